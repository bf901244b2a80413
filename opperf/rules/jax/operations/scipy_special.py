"""JAX's special functions, `jax.scipy.special`."""

from __future__ import annotations

from typing import Any

from opperf.model import Argument, Operator
from opperf.operations.uses import Array, Roles, Table, merge, use, uses

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


def harmonic_roles(n: Array, m: Array, theta: Array, phi: Array, n_max: int) -> dict[str, Any]:
    """Degrees, orders and angles, without the largest degree, which the degrees have too."""
    return {"degree": n, "order": m, "theta": theta, "phi": phi}


def harmonic_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """Degrees, orders, angles and the largest degree, which sizes of arrays depend on."""
    degree = roles["degree"]
    return {
        **{"n": degree, "m": roles["order"], "theta": roles["theta"], "phi": roles["phi"]},
        "n_max": int(degree.fill.high) - 1,  # type: ignore[union-attr]
    }


PREFIX = "scipy.special.{}"

TABLE: Table = merge(
    uses((*SAME_NAME, *RENAMED), "x", PREFIX, RENAMED),
    {PREFIX.format(name): use(*entry) for name, entry in (TWO | OTHERS).items()},
    {
        PREFIX.format("log_softmax"): use("log_softmax", "data=x axis", temperature=1.0),
        PREFIX.format("softmax"): use("softmax", "data=x axis", temperature=1.0),
        PREFIX.format("sph_harm_y"): use(
            "spherical_harmonic", harmonic_roles, to_arguments=harmonic_arguments
        ),
    },
)
