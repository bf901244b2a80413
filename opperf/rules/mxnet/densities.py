"""Samples of many distributions, a row of each: draws, and their densities."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Fill, Operator
from opperf.operations.uses import Table, use
from opperf.rules.configurations import WHY
from opperf.rules.mxnet.sampling import DOUBLE, NUMBERS, PARAMETERS, drawn
from opperf.rules.registering import Families, entry_of
from opperf.rules.sizes import Preset
from opperf.rules.values import (
    NORMAL,
    POSITIVE,
    SIMPLEX,
    Arguments,
    below,
    between,
    call,
    fixed,
    tensor,
)
from opperf.rules.variants import Variants, add_rows

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

OTHERS: dict[str, dict[str, Fill]] = {
    "sample_gamma": {"alpha": between(0.1, 0.9)},
    "sample_poisson": {"lam": between(50.0, 200.0)},
    "sample_negative_binomial": {"p": between(0.01, 0.05)},
    "sample_generalized_negative_binomial": {"mu": between(50.0, 200.0)},
    "sample_binomial": {"n": below(1000, start=100)},
}
"""Parameters of another algorithm, by the operator; others draw in double precision."""


@FAMILIES.add(*(name.replace("random_", "sample_") for name in NUMBERS if name != "random_randint"))
def sample_rows(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The parameters of a distribution for each row, and the number of draws in a row."""
    others = OTHERS.get(operator.name, {})
    end = "of parameters that another algorithm draws by" if others else "in double precision"
    for (rows, columns), fills, notes, why in zip(
        drawn(operator, size),
        (PARAMETERS, PARAMETERS | others),
        ({}, {} if others else DOUBLE),
        (
            "many draws of each distribution, as a Monte Carlo estimate takes",
            f"few draws of each of many distributions, {end}",
        ),
        strict=True,
    ):
        tensors = {p.name: fixed(rows, fill=fills[p.name]) for p in operator.tensors}
        yield {**tensors, "shape": (columns,), **notes, WHY: why}


COUNTS = below(10)

SAMPLES: dict[str, Fill] = {
    "random_pdf_uniform": between(1.0, 2.0),
    "random_pdf_normal": NORMAL,
    "random_pdf_gamma": POSITIVE,
    "random_pdf_exponential": POSITIVE,
    "random_pdf_poisson": COUNTS,
    "random_pdf_negative_binomial": COUNTS,
    "random_pdf_generalized_negative_binomial": COUNTS,
}
"""Fills of samples at which the distributions' densities are above zero."""


@FAMILIES.add(*SAMPLES)
def density(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A row of samples for each distribution, and a distribution for each sample."""
    (rows, columns), *_ = drawn(operator, size)
    sample, *parameters = (parameter.name for parameter in operator.tensors)
    data = tensor(rows, columns, fill=entry_of(SAMPLES, operator))
    for logarithm, shape, why in (
        (False, (rows,), "likelihoods of rows of samples, as the weights of a particle filter"),
        (True, (rows, columns), "a log-likelihood of each sample, as the loss of forecasts"),
    ):
        others = {name: tensor(*shape, fill=PARAMETERS[name]) for name in parameters}
        yield {sample: data, **others, "is_log": logarithm, WHY: why}


VARIANTS: dict[str, Variants] = {
    "random_pdf_dirichlet": lambda size: {
        why: call(
            sample=tensor(size.extent(1000), size.extent(100), 10, fill=SIMPLEX),
            alpha=tensor(size.extent(1000), 10, fill=POSITIVE),
            is_log=logarithm,
        )
        for logarithm, why in (
            (False, "densities of points of a simplex, as a mixture of Dirichlets adds them"),
            (True, "log-densities of points of a simplex: documents' topics in LDA"),
        )
    }
}
add_rows(FAMILIES.add, VARIANTS)
