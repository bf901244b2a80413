"""Operators that only call another: what PyTorch calls by either name."""

import pytest

torch = pytest.importorskip("torch")

from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from opperf.frameworks import load  # noqa: E402
from opperf.frameworks.torch import registry, synonyms  # noqa: E402
from opperf.sources.selecting import Selection, select  # noqa: E402

FRAMEWORK = load("torch")


class Calls(TorchDispatchMode):
    """The operators that are called in its context, in order."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        self.names.append(str(function))
        return function(*arguments, **(named or {}))


VALUES = {
    "n": 2,
    "p": 2,
    "tau": torch.ones(4),
    "tensors": [torch.ones(4, 4)] * 2,
    "source": (0,),
    "destination": (1,),
    "axis0": 0,
    "dim0": 0,
    "dim1": 1,
    "axis1": 1,
    "dim": (0,),
    "rounding_mode": "floor",
    "min": torch.zeros(()),
    "vec2": torch.ones(4),
}
"""Arguments by name; others are a matrix, or a half."""
LISTED = {"moveaxis.int": {"source": 0, "destination": 1}, "ger": {"self": torch.ones(4)}}
OF_ONE_AXIS = ("special_softmax", "special_log_softmax")


def arguments_of(name, schema):
    made = {**VALUES, **LISTED.get(name, {})}
    if name in OF_ONE_AXIS:
        made["dim"] = 0
    if name == "clip":
        made["min"] = 0.0
    found = {}
    for argument in schema.arguments:
        if argument.name == "rounding_mode" or not argument.has_default_value():
            other = torch.eye(4) + 0.25 if str(argument.type) == "Tensor" else 0.5
            found[argument.name] = made.get(argument.name, other)
        elif argument.name == "min":
            found["min"] = made["min"]
    return list(found.items())


def calls_of(function, arguments, schema):
    positional = [a.name for a in schema.arguments if not a.kwarg_only]
    with Calls() as calls, torch.no_grad():
        function(
            *(value for name, value in arguments if name in positional),
            **{name: value for name, value in arguments if name not in positional},
        )
    return calls.names


@pytest.mark.parametrize("name", synonyms.CANONICAL)
def test_both_names_call_the_same(name):
    one, other = registry.find(name), registry.find(synonyms.CANONICAL[name])
    arguments = arguments_of(name, one.schema)
    canonical = [argument.name for argument in other.schema.arguments]
    renamed = [
        (key if key in canonical else canonical[place], value)
        for place, (key, value) in enumerate(arguments)
    ]
    called = calls_of(one.function, arguments, one.schema)
    assert called and called == calls_of(other.function, renamed, other.schema)


NAMED = {
    "torch.absolute": "abs",
    "divide.Tensor_mode": "div.Tensor_mode",
    "det": "linalg_det",
    "greater": "gt.Tensor",
}
"""Names, and the operators under which a run says that their results are."""


def test_a_run_has_them_once_and_either_name_selects():
    operators = FRAMEWORK.operators()
    labels = {one.label for one in select(operators, Selection())}
    assert labels.isdisjoint(synonyms.CANONICAL) and set(synonyms.OTHERS) <= labels
    for name in ("divide.Tensor", "aten::divide.Tensor"):
        found = select(operators, Selection(patterns=(name,)))
        assert [one.label for one in found] == ["div.Tensor"]
    for name, label in NAMED.items():
        assert FRAMEWORK.resolve(name).label == label
