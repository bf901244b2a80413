"""Functions of probability distributions: densities, their sums and the inverses of these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from opperf.model import Fill, TensorSpec
from opperf.operations import CanonicalOperation
from opperf.operations.distributions import operation_of
from opperf.operations.uses import Roles
from opperf.rules.configurations import WHY
from opperf.rules.domains import WHOLE_DTYPE
from opperf.rules.registering import Families
from opperf.rules.shapes import (
    FEW,
    FEW_ITERATED,
    MOSTLY_DISPATCH,
    Shape,
    features,
    line,
    square,
    tiniest,
    tiny,
)
from opperf.rules.sizes import Preset
from opperf.rules.values import (
    ABOVE_ONE,
    BOOLEAN,
    NORMAL,
    POSITIVE,
    POSITIVE_DEFINITE,
    PROBABILITY,
    REQUESTED,
    SIMPLEX,
    below,
    between,
    fixed,
    literal,
    tensor,
)

FAMILIES = Families()

INVERSES = ("isf", "ppf")
"""Functions of probabilities; others are of points."""
SUMS = ("cdf", "logcdf", "logsf", "sf")
DENSITIES = ("logpdf", "logpmf", "pdf", "pmf")
OF_COUNTS = ("cdf", "logpmf", "pmf", "ppf")
"""Functions of integers; the logarithms of sums are infinite at the ends of their range."""
OF_REAL_NUMBERS = ("logpdf", "pdf", *INVERSES, *SUMS)

LOC_AND_SCALE = {"loc": between(-1.0, 1.0), "scale": POSITIVE}
"""Of distributions of all real numbers."""
LOC_BELOW = {"loc": between(-0.5, 0.0), "scale": POSITIVE}
"""Of distributions of positive numbers: points from 0.1 on are in the support."""
INTERVAL = {"loc": between(-0.5, 0.0), "scale": between(1.5, 2.0)}
"""Of distributions of the unit interval: points in it stay in the support."""
SHAPE = between(0.5, 5.0)
SHAPES = {"a": SHAPE, "b": SHAPE}
ENDS = {"a": between(-4.0, -3.0), "b": between(3.0, 4.0)}
"""Of a truncated distribution."""
TRIALS = 16
COUNTS, DRAWS = below(TRIALS), below(2 * TRIALS, TRIALS)
ANGLES = between(-3.0, 3.0)
POSITIVE_POINTS = between(0.1, 5.0)
"""Below and above most means."""


class Fills(NamedTuple):
    """Fills with which every function of a distribution is finite."""

    points: Fill
    parameters: Mapping[str, Fill]
    is_discrete: bool = False
    """Whether points are integers."""
    whole: tuple[str, ...] = ()
    """Parameters that are integers."""
    constants: tuple[str, ...] = ()
    """Parameters in which the sums have no derivative."""
    slow_sums: bool = False
    """Whether a sum or its derivative, a series, takes a microsecond for each element."""
    iterates: bool = True
    """Whether a slow sum is a loop."""


DISTRIBUTIONS: dict[str, Fills] = {
    "bernoulli": Fills(BOOLEAN, {"p": PROBABILITY}, is_discrete=True),
    "beta": Fills(PROBABILITY, {**SHAPES, **INTERVAL}, constants=("a", "b"), slow_sums=True),
    "beta_binomial": Fills(COUNTS, {"n": DRAWS, **SHAPES}, is_discrete=True, whole=("n",)),
    "binomial": Fills(COUNTS, {"n": DRAWS, "p": PROBABILITY}, is_discrete=True, whole=("n",)),
    "cauchy": Fills(NORMAL, LOC_AND_SCALE),
    "chi_square": Fills(POSITIVE_POINTS, {"df": ABOVE_ONE, **LOC_BELOW}, slow_sums=True),
    "exponential": Fills(POSITIVE_POINTS, LOC_BELOW),
    "gamma": Fills(POSITIVE_POINTS, {"a": SHAPE, **LOC_BELOW}, slow_sums=True),
    "generalized_normal": Fills(NORMAL, {"beta": ABOVE_ONE}, slow_sums=True),
    "geometric": Fills(below(TRIALS, 1), {"p": PROBABILITY}, is_discrete=True),
    # Single precision has no exponential of more than 88, whose exponent the tails grow as.
    "gumbel": Fills(between(-1.0, 1.0), LOC_AND_SCALE),
    "laplace": Fills(NORMAL, LOC_AND_SCALE),
    "left_gumbel": Fills(between(-1.0, 1.0), LOC_AND_SCALE),
    "logistic": Fills(NORMAL, LOC_AND_SCALE),
    "negative_binomial": Fills(COUNTS, {"n": SHAPE, "p": PROBABILITY}, is_discrete=True),
    "normal": Fills(NORMAL, LOC_AND_SCALE),
    "pareto": Fills(between(1.1, 5.0), {"b": POSITIVE, **LOC_BELOW, "scale": between(0.5, 1.0)}),
    "poisson": Fills(COUNTS, {"mu": between(0.5, 10.0)}, is_discrete=True, slow_sums=True),
    "student_t": Fills(NORMAL, {"df": ABOVE_ONE, **LOC_AND_SCALE}),
    "truncated_normal": Fills(
        between(-1.0, 1.0),
        {**ENDS, "loc": between(-0.1, 0.1), "scale": POSITIVE},
        slow_sums=True,
        iterates=False,
    ),
    "uniform": Fills(PROBABILITY, INTERVAL),
    "von_mises": Fills(ANGLES, {"kappa": POSITIVE}),
    "wrapped_cauchy": Fills(between(0.1, 6.0), {"c": PROBABILITY}),
}

BY_OPERATION = {operation_of(name): one for name, one in DISTRIBUTIONS.items()}

OPTIONAL = ("loc", "scale")
"""Parameters that are omitted where the standard distribution is meant."""

ROW = "a matrix of numbers and a row of parameters: a distribution for each feature"
STANDARD = "the standard distribution's quantiles of uniform draws, as to sample from it"
EACH = "parameters of each sample, as a network that predicts distributions has them"


def largest(one: Fills, function: str, size: Preset) -> Shape:
    """The shape of the largest tensors that a function is measured with."""
    return features(size) if one.slow_sums and function in SUMS else square(size)


def points_of(one: Fills, function: str, shape: Shape) -> TensorSpec:
    """Points in the support, or probabilities."""
    if function in INVERSES:
        return tensor(*shape, fill=PROBABILITY)
    dtype = WHOLE_DTYPE if one.is_discrete else REQUESTED
    return tensor(*shape, fill=one.points, dtype=dtype, gradient=not one.is_discrete)


def parameters_of(one: Fills, function: str, shape: Shape, standard: bool) -> Roles:
    """Parameters of a shape, without those that the standard distribution has by default."""
    made: Roles = {}
    for name, fill in one.parameters.items():
        if standard and name in OPTIONAL:
            continue
        dtype = WHOLE_DTYPE if name in one.whole else REQUESTED
        constant = name in one.whole or (function in SUMS and name in one.constants)
        made[name] = tensor(*shape, fill=fill, dtype=dtype, gradient=not constant)
    return made


@FAMILIES.operation(*BY_OPERATION)
def of_numbers(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Samples with parameters for each column and of their own, and of standard distributions."""
    one = BY_OPERATION[operation.name]
    # The density of the standard uniform distribution is one everywhere.
    is_flat = operation.name == operation_of("uniform")
    for function in OF_COUNTS if one.is_discrete else OF_REAL_NUMBERS:
        shape = largest(one, function, size)
        wanted: list[tuple[Shape, Shape, Roles, bool]] = [
            (shape, (1, shape[1]), {WHY: ROW}, False),
            (shape, shape, {WHY: EACH}, False),
        ]
        optional = any(name in OPTIONAL for name in one.parameters)
        if function in INVERSES and optional and not is_flat:
            wanted.append((shape, shape, {WHY: STANDARD}, True))
        few = tiniest(size) if one.slow_sums and function in SUMS else tiny(size)
        notes = FEW_ITERATED if one.slow_sums and one.iterates and function in SUMS else FEW
        wanted.append((few, few, notes, not is_flat))
        for points, parameters, notes, standard in wanted:
            made = parameters_of(one, function, parameters, standard)
            point = points_of(one, function, points)
            yield {"point": point, "function": function, **made, **notes}


OF_ALLELES = (2, 1, 3, 2)
"""Counts of four classes. A density of many classes vanishes in single precision."""
TOPICS = 16
"""Coordinates of a point whose density does not overflow single precision."""
WORDS_OF_DOCUMENT = 8
"""Different counts of a word in a document."""


@FAMILIES.operation("multinomial_distribution")
def multinomial(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Counts and the probabilities of their classes: one trial's, as their sum is that of all."""
    few: Roles = {
        "point": fixed(len(OF_ALLELES), fill=literal(OF_ALLELES), dtype=WHOLE_DTYPE),
        "n": sum(OF_ALLELES),
        "p": tensor(len(OF_ALLELES), fill=SIMPLEX),
    }
    for function in ("logpmf", "pmf"):
        why = f"a genotype's alleles, a few classes: {MOSTLY_DISPATCH}"
        yield {**few, "function": function, WHY: why}
    count = WORDS_OF_DOCUMENT * max(1, line(size)[0] // WORDS_OF_DOCUMENT)
    yield {
        # 0, 1, 2 ... of each so many words, again and again: a known number in all.
        "point": fixed(count, fill=Fill("sequence", 1.0, WORDS_OF_DOCUMENT), dtype=WHOLE_DTYPE),
        "function": "logpmf",
        "n": count * (WORDS_OF_DOCUMENT - 1) // 2,
        "p": tensor(count, fill=SIMPLEX),
        WHY: "the words of one document, a class for each word of the vocabulary",
    }


@FAMILIES.operation("dirichlet_distribution")
def dirichlet(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """One point, whose coordinates sum to one, and a parameter for each."""
    for function in ("logpdf", "pdf"):
        yield {
            "point": tensor(TOPICS, fill=SIMPLEX),
            "function": function,
            "alpha": tensor(TOPICS, fill=POSITIVE),
            WHY: f"the topics of one document: {MOSTLY_DISPATCH}",
        }
    (count,) = line(size)
    yield {
        "point": tensor(count, fill=SIMPLEX),
        "function": "logpdf",
        "alpha": tensor(count, fill=POSITIVE),
        WHY: "one topic's words, a coordinate for each word of the vocabulary",
    }


@FAMILIES.operation("multivariate_normal_distribution")
def multivariate_normal(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Vectors of one distribution. Densities of many variables vanish in single precision."""
    (count,) = line(size)
    for function, variables, why in (
        ("logpdf", 64, "vectors of 64 variables, for a Gaussian classifier: a triangular system"),
        ("logpdf", 3, "points in space for a Gaussian mixture: three variables"),
        ("pdf", 13, "13 cepstra of each frame of sound, as a hidden Markov model's emissions"),
        ("pdf", 2, "points in a plane, to draw a density: two variables"),
    ):
        yield {
            "point": tensor(count, variables),
            "function": function,
            "mean": tensor(variables),
            "cov": tensor(variables, variables, fill=POSITIVE_DEFINITE),
            WHY: why,
        }
