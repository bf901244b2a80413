"""JAX's special functions, `jax.scipy.special`, and distributions, `jax.scipy.stats`."""

from __future__ import annotations

from collections.abc import Mapping

from opperf.model import Argument, Operator
from opperf.operations.distributions import PARAMETERS, operation_of
from opperf.operations.uses import Roles, Table, Use, merge, use, uses

DENSITIES = "logpdf pdf"
ALL = "cdf logcdf logpdf logsf pdf sf"
COUNTS = "logpmf pmf"

FUNCTIONS_OF: Mapping[str, tuple[str, str]] = {
    "bernoulli": ("bernoulli", f"cdf {COUNTS} ppf"),
    "beta": ("beta", ALL),
    "betabinom": ("beta_binomial", COUNTS),
    "binom": ("binomial", COUNTS),
    "cauchy": ("cauchy", f"{ALL} isf ppf"),
    "chi2": ("chi_square", ALL),
    "dirichlet": ("dirichlet", DENSITIES),
    "expon": ("exponential", f"{ALL} ppf"),
    "gamma": ("gamma", ALL),
    "gennorm": ("generalized_normal", f"cdf {DENSITIES}"),
    "geom": ("geometric", COUNTS),
    "gumbel_l": ("left_gumbel", f"{ALL} ppf"),
    "gumbel_r": ("gumbel", f"{ALL} ppf"),
    "laplace": ("laplace", f"cdf {DENSITIES}"),
    "logistic": ("logistic", f"cdf {DENSITIES} isf ppf sf"),
    "multinomial": ("multinomial", COUNTS),
    "multivariate_normal": ("multivariate_normal", DENSITIES),
    "nbinom": ("negative_binomial", COUNTS),
    "norm": ("normal", f"{ALL} isf ppf"),
    "pareto": ("pareto", f"{ALL} ppf"),
    "poisson": ("poisson", f"cdf {COUNTS}"),
    "t": ("student_t", DENSITIES),
    "truncnorm": ("truncated_normal", ALL),
    "uniform": ("uniform", f"cdf {DENSITIES} ppf"),
    "vonmises": ("von_mises", DENSITIES),
    "wrapcauchy": ("wrapped_cauchy", DENSITIES),
}
"""Distribution and functions of each of JAX's modules."""


STANDARD = frozenset({("exponential", "ppf")})
"""Right for the standard one alone: JAX 0.7 takes location and scale before the logarithm."""


def function_of(distribution: str, function: str) -> Use:
    """Returns the use of a distribution's function. Its points have several names."""
    parameters = "" if (distribution, function) in STANDARD else PARAMETERS[distribution]
    # A parameter's name after those of points: `p` is a point where it is no parameter.
    text = f"point=x|k|q|p {parameters}"
    return use(operation_of(distribution), text, function=function)


DENSITIES_OF: Table = {
    f"scipy.stats.{module}.{function}": function_of(distribution, function)
    for module, (distribution, functions) in FUNCTIONS_OF.items()
    for function in functions.split()
}


SAME_NAME = (
    *("dawsn", "digamma", "erf", "erfc", "erfcx", "erfinv", "exp1", "expi", "fresnel", "gamma"),
    *("gammaln", "gammasgn", "i0", "i0e", "i1", "i1e", "log_ndtr", "logit", "ndtr", "sici"),
    "spence",
)
RENAMED = {"entr": "entropy_term", "expit": "sigmoid", "loggamma": "gammaln"}
TWO = {
    "beta": ("beta_function", "x=a y=b"),
    "betaln": ("betaln", "x=a y=b"),
    "boxcox": ("boxcox", "x y=lmbda"),
    "boxcox1p": ("boxcox1p", "x y=lmbda"),
    "comb": ("comb", "x=N y=k"),
    "gammainc": ("gammainc", "a x"),
    "gammaincc": ("gammaincc", "a x"),
    "kl_div": ("kl_divergence_term", "x=p y=q"),
    "owens_t": ("owens_t", "x=h y=a"),
    "poch": ("poch", "x=z y=m"),
    "rel_entr": ("relative_entropy_term", "x=p y=q"),
    "xlog1py": ("xlog1py", "x y"),
    "xlogy": ("xlogy", "x y"),
    "zeta": ("zeta", "x q"),
}
"""Operations of functions of two tensors, and the tensors' names."""

OTHERS = {
    "bernoulli": ("bernoulli_numbers", "last=n"),
    "bessel_jn": ("bessel_j_up_to", "x=z order=v"),
    "betainc": ("betainc", "a b x"),
    "erfcinv": ("erfcinv", "x=y"),
    "expn": ("expn", "order=n x"),
    "factorial": ("factorial", "x=n"),
    "hyp1f1": ("hyp1f1", "a b x"),
    "hyp2f1": ("hyp2f1", "a b c x"),
    "multigammaln": ("multigammaln", "x=a order=d"),
    "ndtri": ("ndtri", "x=p"),
    "polygamma": ("polygamma", "x order=n"),
    "wofz": ("wofz", "z"),
}
"""Operations of other functions, and the names of their arguments."""


def harmonic_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """Degrees, orders, angles and the largest degree, which sizes of arrays depend on."""
    degree = roles["degree"]
    return {
        **{"n": degree, "m": roles["order"], "theta": roles["theta"], "phi": roles["phi"]},
        "n_max": int(degree.fill.high) - 1,  # type: ignore[union-attr]
    }


PREFIX = "scipy.special.{}"

OPERATIONS: Table = merge(
    DENSITIES_OF,
    uses((*SAME_NAME, *RENAMED), "x", PREFIX, RENAMED),
    {PREFIX.format(name): use(*entry) for name, entry in (TWO | OTHERS).items()},
    {
        PREFIX.format("log_softmax"): use("log_softmax", "data=x axis", temperature=1.0),
        PREFIX.format("softmax"): use("softmax", "data=x axis", temperature=1.0),
        PREFIX.format("sph_harm_y"): use(
            "spherical_harmonic",
            lambda n, m, theta, phi, n_max: {"degree": n, "order": m, "theta": theta, "phi": phi},
            to_arguments=harmonic_arguments,
        ),
    },
)
