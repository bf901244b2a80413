"""PyTorch's execution modes: compiled, traced, captured; mixed precision."""

import json
import os
from functools import partial

import pytest

torch = pytest.importorskip("torch")

from opperf.errors import UnsupportedError  # noqa: E402
from opperf.frameworks import load  # noqa: E402
from opperf.frameworks.torch import COUNTERS_FILE, modes  # noqa: E402
from opperf.instruments.prepared import PreparedCase  # noqa: E402
from opperf.model import Case, OperatorTarget, Settings, Status, TensorSpec  # noqa: E402
from opperf.worker.measure import measure  # noqa: E402

SQUARE = TensorSpec((8, 8), gradient=True)
BOTH = ("forward", "backward")
TWO = ("eager", "compile")


@pytest.fixture(scope="module")
def framework():
    return load("torch")


@pytest.fixture
def record(framework):
    def made(target, passes=BOTH, arguments=None, **settings):
        if isinstance(target, str):
            target = framework.resolve(target).target
        plain = {"profiler": "python", "warmup": 0, "runs": 2, "memory": False}
        case = Case(target, arguments or {"self": SQUARE}, Settings(**plain, **settings), passes)
        return measure(case, framework)

    return made


def work(function, *tensors, is_user_code=False, **values):
    return partial(function, *tensors, **values), "cpu(0)", is_user_code


def test_eager_is_the_call_itself():
    call = partial(torch.relu, torch.ones(2))
    case = Case(OperatorTarget("torch", "relu"), {}, Settings())
    assert modes.prepare(case.settings, call, is_user_code=False) is call


@pytest.mark.parametrize(
    ("function", "arguments", "values"),
    [
        (torch.relu, (torch.linspace(-1, 1, 9),), {}),
        (torch.ops.aten.cat.default, ([torch.ones(2), torch.zeros(3)],), {"dim": 0}),
        (torch.topk, (torch.arange(9.0),), {"k": 2}),
        (torch.nn.Linear(4, 3), (torch.ones(2, 4),), {}),
    ],
)
def test_a_trace_computes_what_the_call_does(function, arguments, values):
    call = modes.MODES["script"](*work(function, *arguments, **values))
    found, expected = call(), function(*arguments, **values)
    torch.testing.assert_close(found, expected)


def test_a_trace_is_of_the_tensors_and_leaves_them_alone():
    written, parameter = torch.ones(3), torch.nn.Linear(2, 2)
    call = modes.MODES["script"](*work(torch.Tensor.add_, written, 1))
    assert written.tolist() == [1.0] * 3
    call()
    assert written.tolist() == [2.0] * 3
    traced = modes.MODES["script"](*work(parameter, torch.ones(1, 2)))
    with torch.no_grad():
        parameter.weight.zero_()
        parameter.bias.fill_(5.0)
    assert traced().tolist() == [[5.0, 5.0]]


def test_a_trace_has_gradients(record):
    found = record("relu", mode="script")
    assert found.status is Status.OK and {"forward", "backward"} <= set(found.summaries)
    assert "first_call" not in found.summaries


def test_what_has_no_trace_is_skipped_with_the_reason(record):
    found = record("equal", mode="script", arguments={"self": SQUARE, "other": SQUARE})
    assert found.status is Status.SKIPPED
    assert found.reason.startswith("TorchScript does not trace it: Only tensors, lists, tuples")


def test_a_cuda_graph_needs_a_gpu(record):
    found = record("relu", mode="graph")
    assert (found.status, found.reason) == (
        Status.SKIPPED,
        "mode graph needs a GPU, and cpu(0) is none; use --ctx gpu",
    )


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_autocast_casts_where_it_is_suitable(framework, dtype):
    settings = Settings(autocast=dtype)
    case = Case(OperatorTarget("torch", "mm"), {}, settings)
    one = torch.ones(4, 4)
    with framework.scope(case):
        assert str(torch.mm(one, one).dtype) == f"torch.{dtype}"
        assert torch.exp(one).dtype == torch.float32
    with framework.scope(Case(OperatorTarget("torch", "mm"), {}, Settings())):
        assert torch.mm(one, one).dtype == torch.float32


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, "out = torch.ops.aten.mm.default(self, mat2)"),
        (
            {"autocast": "bfloat16"},
            "with torch.autocast('cpu', torch.bfloat16, cache_enabled=False):\n"
            "    out = torch.ops.aten.mm.default(self, mat2)",
        ),
        (
            {"mode": "compile"},
            "out = torch.compile(torch.ops.aten.mm.default, dynamic=False)(self, mat2)",
        ),
        ({"mode": "script"}, "out = torch.ops.aten.mm.default(self, mat2)"),
    ],
)
def test_a_script_has_the_mode_and_mixed_precision(framework, settings, expected):
    arguments = {"self": SQUARE, "mat2": SQUARE}
    case = Case(framework.resolve("mm").target, arguments, Settings(**settings), ("forward",))
    text = framework.recordings.source(case, *made_of(framework, case))
    assert f"{expected}\n" in text
    if settings.get("mode") != "compile":
        names = {}
        exec(text, names)
        assert str(names["out"].dtype) == f"torch.{settings.get('autocast', 'float32')}"


def made_of(framework, case):
    """The arguments of a case, and its call."""
    eager = Case(case.target, case.arguments, Settings(), case.passes)
    prepared = PreparedCase(eager, framework)
    return prepared.arguments, prepared.call


def branches(x):
    """A function with a graph break."""
    x = x + 1
    return x * 2 if x.sum() > 0 else x


@pytest.mark.sweep
def test_compiled_calls(record, tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "cache"))
    if modes._start():
        pytest.skip(modes._start())
    both = {"self": SQUARE, "other": SQUARE}
    for name, arguments in (("relu", {"self": SQUARE}), ("add", both)):
        eager, found = (record(name, arguments=arguments, mode=mode) for mode in TWO)
        assert found.status is Status.OK, found.reason
        # Compiling takes longer than any call of 64 elements, and is no part of a call's time.
        assert found.summaries["first_call"].median > found.summaries["forward"].min
        assert found.summaries["graph_breaks"].median == 0
        # The program that records gradients is another one, and no recompilation.
        assert found.summaries["recompilations"].median == 0
        assert set(found.summaries) - set(eager.summaries) == {
            "first_call",
            "graph_breaks",
            "recompilations",
            "compile_cache_misses",
        }
    # What the compiler does not take, in one line, and for an operator a graph break is that.
    refused = record("equal", arguments=both, mode="compile")
    assert refused.status is Status.SKIPPED
    assert refused.reason == (
        "torch.compile: Unsupported: Operator `aten.equal.default` has a non-Tensor output whose "
        "value is dependent on the data of Tensor inputs."
    )
    with modes.compile_scope(is_cold=True):
        assert os.environ["TORCHINDUCTOR_CACHE_DIR"] != str(tmp_path / "cache")
        call = modes.compiled(partial(branches, torch.ones(3)), whole=False)
        assert call().tolist() == [4.0] * 3
        # The graph before the break and that after it.
        counts = {"graph_breaks": 1, "recompilations": 0, "compile_cache_misses": 2}
        assert modes.count() == counts
    assert os.environ["TORCHINDUCTOR_CACHE_DIR"] == str(tmp_path / "cache")
    with modes.compile_scope(is_cold=False):
        compiled = modes.compiled(partial(torch.relu, torch.ones(3)), whole=True)
        for size in (3, 4):
            compiled.func(torch.ones(size))
        counts = {"graph_breaks": 0, "recompilations": 1, "compile_cache_misses": 2}
        monkeypatch.setenv(COUNTERS_FILE, str(tmp_path / "counters.json"))
        assert modes.count() == counts
        monkeypatch.delenv(COUNTERS_FILE)
        written = json.loads((tmp_path / "counters.json").read_text())
        assert written["stats"]["unique_graphs"] >= 2
    with modes.compile_scope(is_cold=False):
        modes.compiled(partial(torch.relu, torch.ones(3)), whole=True)()
        assert modes.count()["compile_cache_misses"] == 0


def test_a_missing_compiler_is_one_line(monkeypatch):
    from torch._inductor.exc import InductorError, InvalidCxxCompiler

    def refuse(function, backend):
        raise InductorError(InvalidCxxCompiler(), None)

    monkeypatch.setattr(torch, "compile", refuse)
    monkeypatch.setattr(modes, "_start", modes._start.__wrapped__)
    words = "^torch.compile needs a C\\+\\+ compiler, and finds none; install g\\+\\+, or set the "
    with pytest.raises(UnsupportedError, match=words), modes.compile_scope(is_cold=False):
        pytest.fail("nothing can be compiled")


def test_errors_of_the_compiler_are_reasons_and_others_pass(monkeypatch):
    from torch._dynamo.exc import Unsupported

    monkeypatch.setattr(modes, "_start", lambda backend: "")
    words = "^torch.compile: Unsupported: no loops$"
    with pytest.raises(UnsupportedError, match=words), modes.compile_scope(is_cold=False):
        raise Unsupported("no loops\n  Hint: write none", "")
    with pytest.raises(ZeroDivisionError), modes.compile_scope(is_cold=False):
        raise ZeroDivisionError
