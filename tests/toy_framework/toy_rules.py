"""Inputs for the toy framework: a table by argument name."""

from opperf.model import Kind
from opperf.rules.registering import Families
from opperf.rules.values import tensor

FAMILIES = Families()
TABLE = {
    (name, Kind.TENSOR): lambda operator, size: [tensor(size.extent(1000))]
    for name in ("data", "lhs", "rhs")
}
