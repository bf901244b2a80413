"""Rules of another package: one more configuration of NumPy's `add`."""

from opperf.rules.numpy import FAMILIES
from opperf.rules.values import tensor


@FAMILIES.also("add")
def odd(operator, size):
    """Rows of an odd length."""
    yield {"x1": tensor(3, 77), "x2": tensor(3, 77)}
