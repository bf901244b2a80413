"""Inputs for the toy framework: a table by argument name."""

from opperf.model import Kind
from opperf.rules.registering import Families
from opperf.rules.values import tensor

FAMILIES = Families()
OPERATIONS = {}
GRADIENTS = False
TABLE = {
    (name, Kind.TENSOR): lambda operator, size: [tensor(size.extent(1000))]
    for name in ("data", "lhs", "rhs")
}
FUNCTIONS = {}
NUMPY_INTERFACE = ""
OPTIONAL_TENSORS = TRAIN_PHASE = NEEDS_OUTPUT = frozenset()
NOT_BENCHMARKED = NOT_FINITE = {}
