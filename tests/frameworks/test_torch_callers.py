"""What users' functions call of operators without a public name, held against PyTorch."""

import inspect

import pytest

torch = pytest.importorskip("torch")

from torch.nn import functional  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from opperf.frameworks import load  # noqa: E402
from opperf.frameworks.torch import callers  # noqa: E402
from opperf.rules.engine import inputs_for, rules_module  # noqa: E402
from opperf.rules.sizes import PRESETS  # noqa: E402
from opperf.sources.selecting import Selection, select  # noqa: E402

OPERATORS = load("torch").operators()
OPTIONS = (
    {},
    {"maximize": True},
    {"amsgrad": True},
    {"weight_decay": 0.1},
    {"momentum": 0.9, "nesterov": True},
    {"centered": True, "momentum": 0.9},
)
"""Of optimizers, those that change what is called."""


class Calls(TorchDispatchMode):
    """The operators that are called in its context."""

    def __init__(self):
        super().__init__()
        self.names = set()

    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        self.names.add(str(function).removeprefix("aten.").removesuffix(".default"))
        return function(*arguments, **(named or {}))


def parameters():
    made = [torch.nn.Parameter(torch.ones(4, 4)) for _ in range(3)]
    for one in made:
        one.grad = torch.ones(4, 4)
    return made


def optimize():
    for kind in vars(torch.optim).values():
        if not inspect.isclass(kind):
            continue
        accepted = inspect.signature(kind).parameters
        for form in accepted.keys() & {"foreach", "fused"}:
            for options in OPTIONS:
                if options.keys() <= accepted.keys():
                    optimizer = kind(parameters(), lr=0.1, **{form: True}, **options)
                    optimizer.step()
                    optimizer.step()
                    optimizer.zero_grad(set_to_none=False)


def scale():
    scaler = torch.amp.GradScaler("cpu")
    optimizer = torch.optim.SGD(parameters(), 0.1)
    scaler.scale(torch.ones(1))
    scaler.unscale_(optimizer)
    scaler.update()


def interpolate():
    maps = torch.ones(1, 1, 8, 8)
    for mode in ("bilinear", "bicubic", "lanczos"):
        functional.interpolate(maps, size=4, mode=mode, antialias=True)
    for axes in (1, 2, 3):
        functional.interpolate(torch.ones(1, 1, *(axes * [8])), size=4, mode="nearest-exact")


def multiply_groups():
    ends = torch.tensor([8, 16], dtype=torch.int32)
    half = torch.bfloat16
    functional.grouped_mm(
        torch.ones(16, 16, dtype=half), torch.ones(2, 16, 16, dtype=half), offs=ends
    )


def multiply_scaled():
    eight = torch.ones(16, 16).to(torch.float8_e4m3fn)
    by = functional.ScalingType.TensorWise
    one = torch.ones(())
    functional.scaled_mm(eight, eight.t(), one, by, one, by, output_dtype=torch.bfloat16)


EXAMPLES = {
    "torch.optim": optimize,
    "torch.nn.utils.clip_grad_norm_": lambda: torch.nn.utils.clip_grad_norm_(parameters(), 0.1),
    "torch.nn.utils.clip_grad_value_": lambda: torch.nn.utils.clip_grad_value_(
        parameters(), 0.1, foreach=True
    ),
    "torch.amp.GradScaler": scale,
    "torch.nn.functional.grouped_mm": multiply_groups,
    "torch.nn.functional.scaled_mm": multiply_scaled,
    "torch.nn.functional.interpolate": interpolate,
    "torch.unique": lambda: torch.unique(torch.tensor([1, 2, 1])),
    "torch.sparse.addmm": lambda: torch.sparse.addmm(
        torch.ones(4, 4), torch.eye(4).to_sparse(), torch.ones(4, 4)
    ),
}
"""Calls of the functions, on a CPU; of others PyTorch's composite kernels call further operators
before any that can be seen, or need a GPU."""


@pytest.mark.parametrize("caller", EXAMPLES)
def test_what_users_call_calls_the_operators(caller):
    with Calls() as calls:
        EXAMPLES[caller]()
    names = set(callers.CALLED[caller].split())
    assert names and names <= calls.names


def test_each_has_inputs_of_its_own_rule_and_is_in_a_run():
    found = {one.label: one for one in OPERATORS if one.caller}
    assert found.keys() == callers.BY_OPERATOR.keys()
    rules = rules_module("opperf.rules.torch")
    made = [inputs_for(one, rules, PRESETS["small"], "") for one in found.values()]
    assert all(inputs[0].origin.startswith(("rule:", "operation:")) for inputs in made)
    assert found.keys() <= {one.label for one in select(OPERATORS, Selection())}


def test_a_name_or_wildcard_means_what_it_did_without_callers():
    def named(*patterns):
        return {one.label for one in select(OPERATORS, Selection(patterns=patterns))}

    assert named("_fused_adam") == {"_fused_adam", "_fused_adam.tensor_lr"}
    assert "_foreach_exp" in named("_foreach_*")
    assert "_fused_adam_" in named("*")
