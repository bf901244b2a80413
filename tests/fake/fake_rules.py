"""Inputs for the fake framework's operators."""

from opperf.model import Kind
from opperf.rules.registering import Families
from opperf.rules.values import tensor, tensors

FAMILIES = Families()


@FAMILIES.category("unary")
def unary(operator, preset):
    side = preset.extent(64, least=4)
    return [{"data": tensor(side, side)}, {"data": tensor(side)}]


@FAMILIES.add("add_n")
def lists(operator, preset):
    return [{"args": tensors([tensor(8, 8), tensor(8, 8)]), "weight": tensor(4), "scale": 2}]


@FAMILIES.add("geared")
def geared(operator, preset):
    return [{"data": tensor(preset.extent(64), 4)}, {"data": tensor(4), "gear": "middle"}]


GRADIENTS = True
TABLE = {
    ("lhs", Kind.TENSOR): lambda operator, preset: [tensor(preset.extent(64))],
    ("rhs", Kind.TENSOR): lambda operator, preset: [tensor(preset.extent(64))],
    ("data", Kind.TENSOR): lambda operator, preset: [tensor(4)],
}
TRAIN_PHASE = frozenset({"dropout"})
NEEDS_OUTPUT = frozenset({"copyto"})
NOT_BENCHMARKED = {"placeholder": "it does nothing on its own"}
