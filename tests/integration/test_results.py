"""What one untimed call results in, in each framework, and that A and B are told apart by it."""

from types import MappingProxyType

import pytest

from opperf.comparison.ab.checking import check_results
from opperf.comparison.ab.pairs import Pair
from opperf.execution.progress import Progress
from opperf.frameworks import load
from opperf.model import Case, FileTarget, Fill, Settings, TensorSpec, Tolerance
from opperf.worker.call_outputs import observe

IMPORTS = {
    "torch": "import torch as lib",
    "jax": "import jax.numpy as lib",
    "mxnet": "from mxnet import nd as lib",
}

FUNCTIONS = """
def base(x): return [lib.exp(x), {{"total": x.sum()}}]
def slower(x): return [lib.exp(x + 0.5 - 0.5), {{"total": x.sum()}}]
def wrong_gradient(x): return [{detached}, {{"total": x.sum()}}]
def lossy(x): return [lib.exp(x) * 1.01, {{"total": x.sum()}}]
def tuple_of(x): return tuple(base(x))
KEPT, CALLS = {{}}, []
def kept(x):
    if x.shape not in KEPT: KEPT[x.shape] = base(x)
    return KEPT[x.shape]
def tired(x): CALLS.append(1); return base(x) if len(CALLS) < 6 else [x, {{"total": x.sum()}}]
"""

DETACHED = {
    "torch": "lib.exp(x) + x - x.detach()",
    "jax": "lib.exp(x) + x - jax.lax.stop_gradient(x)",
    "mxnet": "lib.exp(x) + x - lib.BlockGrad(x)",
}


class Here:
    """A worker in this process."""

    def __init__(self, framework):
        self._framework = load(framework)

    def begin_process(self, devices):
        """Goes on in this one."""

    def end_process(self):
        """Goes on in this one."""

    def observe(self, case, folder, draw=0, calls=0):
        return observe(case, self._framework, folder, draw, calls)


def check(framework, a, b):
    pair = Pair(a, b)
    (found,) = check_results(
        [pair], {arm: Here(framework) for arm in "AB"}, Tolerance(), Progress(), several=True
    ).values()
    (only,) = found.values()
    return only


@pytest.fixture(params=IMPORTS)
def functions(request, tmp_path):
    """The framework, and a function that checks two functions in dtypes and settings."""
    name = request.param
    pytest.importorskip(name)
    file = tmp_path / "mine.py"
    extra = "import jax\n" if name == "jax" else ""
    text = FUNCTIONS.format(detached=DETACHED[name])
    file.write_text(f"{extra}{IMPORTS[name]}\n{text}")

    def case(function, dtype="float32", layout="dense", settings=MappingProxyType({})):
        tensor = TensorSpec((8, 6), dtype, Fill("uniform", 0.0, 1.0), layout, gradient=True)
        target = FileTarget(name, str(file), function)
        return Case(target, {"x": tensor}, Settings(dtype=dtype, profiler="python", **settings))

    return name, lambda a, b, other=None: check(name, case(*a), case(*b))


def test_outputs_and_gradients_of_functions(functions):
    _, checked = functions
    same = checked(("base",), ("slower",))
    assert (same.outcome, same.note, same.count) == ("same", "", 0)
    lossy = checked(("base",), ("lossy",))
    assert [one.place for one in lossy.differences] == ["output[0]", "gradient of x"]
    assert lossy.differences[0].relative == pytest.approx(0.01, rel=0.01)
    gradient = checked(("base",), ("wrong_gradient",))
    assert [one.place for one in gradient.differences] == ["gradient of x"]


@pytest.mark.parametrize(
    "function, place",
    [
        ("tuple_of", "type of output"),
        ("kept", "output[0], with other contents"),
        ("tired", "output[0], last of several calls"),
    ],
)
def test_later_calls_and_types_of_functions(functions, function, place):
    _, checked = functions
    eager = {"mode": "eager"}
    found = checked(("base", "float32", "dense", eager), (function, "float32", "dense", eager))
    assert found.outcome == "different" and place in [one.place for one in found.differences]


def test_the_lower_precision_decides(functions):
    name, checked = functions
    low = "float16" if name == "mxnet" else "bfloat16"
    assert checked(("base",), ("base", low)).outcome == "same"
    assert checked(("base", low), ("lossy", low)).outcome == (
        "different" if low == "float16" else "same"
    )


TORCH = """
import torch
def dropout(x): return torch.nn.functional.dropout(x, 0.5, True)
def other_dropout(x): return x * (torch.rand_like(x) > 0.5) * 2
def relu(x): return torch.relu(x)
def relu_(x): torch.relu_(x)
def writes(x): x.mul_(2)
def writes_too(x): x.add_(x.clone())
def writes_less(x): x.mul_(1.5)
def sparse(x): return x.to_sparse()
def rows(x): return x.to_sparse_csr()
def dense(x): return x
def nested(x): return torch.nested.nested_tensor([x[0], x[1][:3]])
def complex(x): return torch.complex(x, x)
def conjugate(x): return torch.complex(x, -x).conj()
class Lazy(torch.Tensor): pass
def lazy(x): return x.as_subclass(Lazy)
def top(x): return torch.topk(x, 2)
def counts(x): return (x > 0.5).sum(), (x > 0.5), x.argmax(-1).int()
def counts_too(x): return (x >= 0.5).sum(), (x >= 0.5), x.argmax(-1).int()
def half(x): return x.to(torch.float8_e5m2)
def detached(x): return x.detach().clone()
@torch.library.custom_op("opperf_tests::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor: return x * 2
def doubled(x): return x * 2
"""


@pytest.mark.parametrize(
    "a, b, outcome, words",
    [
        ("dropout", "dropout", "same", ""),
        ("dropout", "other_dropout", "not compared", "output: random, or not written, in A"),
        ("writes", "writes_too", "same", ""),
        ("writes", "writes_less", "different", "x after the call: largest error"),
        ("relu", "relu_", "different", "None in B"),
        ("dense", "lazy", "different", "output: torch.Tensor in A, Lazy in B, with equal values"),
        ("top", "top", "same", ""),
        ("sparse", "sparse", "same", ""),
        ("sparse", "rows", "different", "coo in A, csr in B, with equal values"),
        ("nested", "nested", "same", ""),
        ("complex", "conjugate", "same", ""),
        ("counts", "counts_too", "same", ""),
        ("half", "half", "same", ""),
        ("dense", "detached", "different", "backward: A has it, B has not (autograd has no"),
        ("detached", "dense", "different", "backward: B has it, A has not (autograd has no"),
        ("doubled", "twice", "different", "backward: A has it, B has not (Trying to backward"),
        ("detached", "detached", "same", "gradients: autograd has no gradient"),
        ("half", "dense", "different", "float8_e5m2 in A, float32 in B"),
    ],
)
def test_kinds_of_results(tmp_path, a, b, outcome, words):
    pytest.importorskip("torch")
    file = tmp_path / "mine.py"
    file.write_text(TORCH)
    tensor = TensorSpec((4, 6), fill=Fill("uniform", 0.0, 1.0), gradient=True)
    settings = Settings(profiler="python")
    cases = (Case(FileTarget("torch", str(file), name), {"x": tensor}, settings) for name in (a, b))
    found = check("torch", *cases)
    assert found.outcome == outcome, found
    assert words in "; ".join([found.note, *map(str, found.differences)])
