"""Known differences of frameworks from the references of canonical operations: what is theirs by
definition, and no error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple


class Difference(NamedTuple):
    """A difference of one framework."""

    text: str
    dtypes: tuple[str, ...] = ()
    """Dtypes that results may have, whatever the inputs have."""
    of_gradient: bool = False
    """Whether its gradient is not that of its results."""


IN_DOUBLE: Final = Difference("results are in double precision", ("float64", "complex128"))
OF_LOSS: Final = Difference("its gradient is that of a loss, whatever the heads", of_gradient=True)
SCALED: Final = Difference("its gradient is scaled by an argument", of_gradient=True)

KNOWN: Final[Mapping[str, Mapping[str, Difference]]] = {
    "numpy": dict.fromkeys(
        (
            *("fourier_transform", "hermitian_fourier_transform", "inverse_fourier_transform"),
            *("inverse_hermitian_fourier_transform", "inverse_real_fourier_transform"),
            *("real_fourier_transform", "correlation_coefficients", "covariance", "vandermonde"),
        ),
        IN_DOUBLE,
    ),
    "torch": {"float_power": IN_DOUBLE},
    "mxnet": {
        **dict.fromkeys(("LinearRegressionOutput", "LogisticRegressionOutput"), OF_LOSS),
        **dict.fromkeys(("MAERegressionOutput", "SVMOutput", "SoftmaxOutput"), OF_LOSS),
        **dict.fromkeys(("MakeLoss", "make_loss"), OF_LOSS),
        "_contrib_gradientmultiplier": SCALED,
    },
}
"""By framework, and by the operator's name or else that of the operation."""


def difference_of(framework: str, *names: str) -> Difference | None:
    """Returns the known difference of the first of these operators and operations that has one."""
    known = KNOWN.get(framework, {})
    return next((known[name] for name in names if name in known), None)
