"""Densities of distributions, which MXNet computes of rows of samples."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Fill, Operator
from opperf.operations.uses import Table, use
from opperf.rules.configurations import WHY
from opperf.rules.mxnet.sampling import PARAMETERS, drawn
from opperf.rules.registering import Families, entry_of
from opperf.rules.sizes import Preset
from opperf.rules.values import NORMAL, POSITIVE, SIMPLEX, Arguments, below, between, tensor

OPERATIONS: Table = {
    f"random_pdf_{name}": use(f"{name}_density", f"sample is_log {roles}")
    for name, roles in {
        "dirichlet": "alpha",
        "exponential": "rate=lam",
        # `beta` is a rate here, and a scale where numbers are drawn.
        "gamma": "shape=alpha rate=beta",
        "generalized_negative_binomial": "mu alpha",
        "negative_binomial": "failures=k p",
        "normal": "loc=mu scale=sigma",
        "poisson": "rate=lam",
        "uniform": "low high",
    }.items()
}

FAMILIES = Families()

SAMPLES: dict[str, Fill] = {
    "random_pdf_uniform": between(1.0, 2.0),
    "random_pdf_normal": NORMAL,
    "random_pdf_gamma": POSITIVE,
    "random_pdf_exponential": POSITIVE,
    "random_pdf_poisson": below(10),
    "random_pdf_negative_binomial": below(10),
    "random_pdf_generalized_negative_binomial": below(10),
}
"""Fills of samples at which the distributions' densities are above zero."""


DENSITIES = (
    (False, "likelihoods of rows of samples, as the weights of a particle filter"),
    (True, "log-likelihoods of rows of samples, as the loss of probabilistic forecasts"),
)
"""Whether the logarithm of a density is computed, and why."""


@FAMILIES.add(*SAMPLES)
def density(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A row of samples for each distribution, for the density and for its logarithm."""
    (rows, columns), *_ = drawn(operator, size)
    for logarithm, why in DENSITIES:
        yield {
            parameter.name: (
                tensor(rows, columns, fill=entry_of(SAMPLES, operator))
                if parameter.name == "sample"
                else tensor(rows, fill=PARAMETERS[parameter.name])
            )
            for parameter in operator.tensors
        } | {"is_log": logarithm, WHY: why}


OF_SIMPLEX = (
    (False, "densities of points of a simplex, as a mixture of Dirichlet distributions adds them"),
    (True, "log-densities of points of a simplex: documents' topics in LDA"),
)
"""As `DENSITIES`, of shares that add up to one."""


@FAMILIES.add("random_pdf_dirichlet")
def dirichlet(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Points of a simplex, for the density and for its logarithm."""
    rows, classes = size.extent(1000), 10
    for logarithm, why in OF_SIMPLEX:
        yield {
            "sample": tensor(rows, size.extent(100), classes, fill=SIMPLEX),
            "alpha": tensor(rows, classes, fill=POSITIVE),
            "is_log": logarithm,
            WHY: why,
        }
