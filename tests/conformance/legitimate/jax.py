"""Findings of JAX's cases that are no faults."""

from tests.conformance.exceptions import Exempt, given
from tests.conformance.judging import (
    CONSTANT,
    CONSTANT_INPUT,
    DOES_NOT_RUN,
    INTEGERS,
    NOT_FINITE,
    OTHER_NUMBERS,
    RESIZED,
    WITHOUT_IMAGINARY_PART,
    ZERO_GRADIENT,
)
from tests.conformance.reasons import (
    BY_CHANCE,
    COARSE,
    CREATION,
    DISCRETE,
    EQUAL,
    NEAREST,
    OVERFLOW,
    REAL_PART,
    ROUNDING,
    SIGN,
    SIGNS,
)

TABLE = (
    Exempt(DOES_NOT_RUN, "from a device to another, and a process has one here", "lax.ppermute"),
    Exempt(
        CONSTANT,
        CREATION,
        "jnp.empty jnp.empty_like jnp.full jnp.full_like jnp.ones jnp.ones_like jnp.zeros "
        "jnp.zeros_like lax.empty lax.full lax.full_like",
    ),
    Exempt(CONSTANT, SIGN, "jnp.linalg.slogdet", place="output[[]0]"),
    Exempt(CONSTANT, "every guess leads to the only root", "lax.custom_root"),
    Exempt(CONSTANT, "the data of the first key are zeros", "random.clone random.key_data"),
    Exempt(CONSTANT_INPUT, EQUAL, "jnp.all jnp.any", sometimes=True),
    Exempt(INTEGERS, BY_CHANCE, "jnp.all jnp.any lax.reduce_and lax.reduce_or", sometimes=True),
    Exempt(
        INTEGERS,
        "two words of each class, which sum to the number of words",
        "scipy.stats.multinomial.logpmf",
    ),
    Exempt(RESIZED, "along rows", "scipy.special.log_softmax scipy.special.softmax"),
    Exempt(OTHER_NUMBERS, "there is a row for each expert of each token", "lax.ragged_dot"),
    Exempt(WITHOUT_IMAGINARY_PART, REAL_PART, "jnp.real lax.real"),
    Exempt(
        WITHOUT_IMAGINARY_PART,
        "a real matrix, whose function is real, as complex numbers",
        "scipy.linalg.funm scipy.linalg.sqrtm",
    ),
    Exempt(ZERO_GRADIENT, SIGNS, "jnp.copysign", place="gradient of x2"),
    Exempt(
        ZERO_GRADIENT,
        ROUNDING,
        "jnp.ceil jnp.fix jnp.floor jnp.floor_divide jnp.heaviside jnp.rint jnp.round jnp.sign "
        "jnp.trunc lax.ceil lax.floor lax.round lax.sign scipy.special.gammasgn "
        "scipy.stats.bernoulli.ppf",
    ),
    Exempt(ZERO_GRADIENT, ROUNDING, "jnp.piecewise", given=given(funclist=(1, 2, 3))),
    Exempt(ZERO_GRADIENT, "only its shape matters", "jnp.ones_like jnp.zeros_like"),
    Exempt(ZERO_GRADIENT, "it stops gradients", "lax.stop_gradient"),
    Exempt(
        ZERO_GRADIENT, NEAREST, "scipy.ndimage.map_coordinates", place="gradient of coordinates*"
    ),
    Exempt(ZERO_GRADIENT, DISCRETE, "scipy.stats.uniform.logpdf scipy.stats.uniform.pdf"),
)

FINITE_AT_TIMES = ""
"""Functions that may return NaN or infinity, and do so by chance."""

POLES = Exempt(
    NOT_FINITE,
    "in half precision a number may be a pole: one that is drawn, or a whole negative one",
    "random.rayleigh scipy.special.gammasgn",
    sometimes=True,
)

BY_DTYPE: dict[str, tuple[Exempt, ...]] = {
    "bfloat16": (
        Exempt(
            CONSTANT,
            COARSE,
            "jnp.cumprod jnp.cumulative_prod jnp.nancumprod jnp.nanprod jnp.prod lax.cumprod "
            "lax.reduce_prod",
        ),
        POLES,
    ),
    "float16": (
        Exempt(
            NOT_FINITE,
            OVERFLOW,
            "jnp.sinc lax.custom_linear_solve scipy.sparse.linalg.bicgstab scipy.special.bessel_jn "
            "scipy.special.exp1 scipy.special.expi scipy.special.expn scipy.special.factorial "
            "scipy.stats.beta.logcdf scipy.stats.beta.logsf scipy.stats.dirichlet.pdf "
            "scipy.stats.gamma.logcdf",
        ),
        POLES,
    ),
}
"""Findings in other dtypes than float32."""
