"""Functions by dotted path have the inputs of what they compute: every public one runs, and writes
to no memory that is not its own."""

import inspect

import mxnet as mx
import numpy as np
import pytest

from opperf.frameworks import load
from opperf.model import NoteCode, OperatorTarget, Settings, Status
from opperf.sources.registry import plan
from opperf.sources.selecting import Selection
from opperf.worker.client import Worker
from opperf.worker.measure import measure
from tests.integration.heap_sweep import functions
from tests.integration.test_heap import CHECKED_IF_POSSIBLE, LEAST_CALLS

SETTINGS = Settings(
    device="cpu(0)", profiler="python", warmup=0, runs=1, memory=False, timeout_s=60.0
)

PLACES = {
    "mxnet": {
        "mx.np": mx.np,
        "mx.np.linalg": mx.np.linalg,
        "mx.np.random": mx.np.random,
        "mx.npx": mx.npx,
        "mx.npx.random": mx.npx.random,
        "mx.nd": mx.nd,
        "mx.nd.contrib": mx.nd.contrib,
        "mx.nd.image": mx.nd.image,
        "mx.nd.linalg": mx.nd.linalg,
        "mx.nd.random": mx.nd.random,
        "mx.nd.sparse": mx.nd.sparse,
    },
    "numpy": {
        "numpy": np,
        "numpy.fft": np.fft,
        "numpy.linalg": np.linalg,
        "numpy.random": np.random,
    },
}

BROKEN = {
    # MXNet's functions for these call operators of names that it does not have.
    "mx.np.deg2rad": "no attribute 'deg2rad'",
    "mx.np.rad2deg": "no attribute 'rad2deg'",
    # MXNet passes a list on to NumPy's result type, which has another signature from NumPy 1.25 on.
    "mx.np.linalg.qr": "QRResult",
    # NumPy removed what MXNet looks up.
    **dict.fromkeys(("mx.np.mirr", "mx.np.npv", "mx.np.ppmt", "mx.np.pv", "mx.np.rate"), "NEP 32"),
}
"""Functions that fail in any call, and a part of the reason."""


def public(place, module):
    """The paths of a module's public functions."""
    names = getattr(module, "__all__", None) or dir(module)
    for name in sorted(set(names)):
        value = getattr(module, name, None)
        is_function = callable(value) and not isinstance(value, type)
        if is_function and not name.startswith("_") and not inspect.ismodule(value):
            yield f"{place}.{name}"


def planned(framework, *paths, **selected):
    return plan(load(framework), Selection(patterns=paths, settings=SETTINGS, **selected))


@pytest.mark.sweep
@pytest.mark.parametrize("framework", PLACES)
def test_every_public_function_runs_or_has_a_reason(framework, monkeypatch):
    for name, value in (CHECKED_IF_POSSIBLE if framework == "mxnet" else {}).items():
        monkeypatch.setenv(name, value)
    paths = [path for place, one in PLACES[framework].items() for path in public(place, one)]
    # Those of submodules may refuse what the rules make.
    others = [f"mx.{root}.{path}" for root, path in functions()] if framework == "mxnet" else []
    broken, measured = {}, set()
    with Worker(framework) as worker:
        for path in dict.fromkeys((*paths, *others)):
            made = worker.plan(Selection(patterns=(path,), size="small", settings=SETTINGS))
            assert made.cases or all(made.excluded.values()), path
            for case in made.cases:
                if case.id in measured:
                    continue
                record = worker.measure(case)
                if record.status is Status.OK:
                    measured.add(case.id)
                is_known = path in paths
                assert record.status is Status.OK or record.reason, path
                if record.status is Status.FAILED and not is_known:
                    continue
                if record.status not in (Status.OK, Status.SKIPPED):
                    broken[path] = record.reason
                elif is_known and record.note("", NoteCode.NAN):
                    broken[path] = "NaN"
    assert framework != "mxnet" or len(measured) >= LEAST_CALLS
    unexpected = {
        path: reason
        for path, reason in broken.items()
        if path not in BROKEN or BROKEN[path] not in reason
    }
    assert unexpected == {}


def first_arguments(framework, path):
    return planned(framework, path, size="small").cases[0].arguments


@pytest.mark.parametrize("path", ["np.lcm", "np.bitwise_and", "mx.np.bitwise_xor"])
def test_functions_of_whole_numbers_get_such(path):
    dtypes = {spec.dtype for spec in first_arguments("mxnet", path).values()}
    assert dtypes == {"int32"}


def test_no_negative_number_is_raised_to_a_fraction():
    base, _ = first_arguments("mxnet", "np.power").values()
    assert base.fill.low > 0


def test_a_system_of_equations_is_regular():
    matrix, _ = first_arguments("mxnet", "np.linalg.solve").values()
    assert matrix.fill.distribution == "positive_definite"


@pytest.mark.parametrize("size", ["small", "default"])
def test_inner_dimensions_of_a_product_are_equal(size):
    for case in planned("mxnet", "np.matmul", size=size).cases:
        left, right = case.arguments.values()
        assert left.shape[-1] == right.shape[-2 if len(right.shape) > 1 else -1]


@pytest.mark.parametrize("path", ["np.random.normal", "nd.random.normal", "np.random.gamma"])
def test_a_distribution_is_no_operator_of_its_last_name(path):
    cases = planned("mxnet", path).cases
    assert cases
    for case in cases:
        # A row-sparse output may be there.
        assert all(spec.layout != "dense" for _, spec in case.tensors())


@pytest.mark.parametrize("path", ["np.matmul", "mx.np.matmul", "mxnet.np.matmul"])
def test_all_spellings_of_a_path_have_the_same_inputs(path):
    assert first_arguments("mxnet", path) == first_arguments("mxnet", "mxnet.numpy.matmul")


def test_what_runs_on_the_hosts_numpy_has_the_inputs_of_numpys_function():
    (case,) = planned("mxnet", "np.histogram2d").cases
    assert list(case.arguments) == ["x", "y", "bins"]


def test_a_users_function_has_no_operators_inputs(tmp_path, monkeypatch):
    """A user's `lcm` may compute anything: its tensors are the usual ones."""
    (tmp_path / "kernels.py").write_text("def lcm(x1, x2):\n    return x1 + x2\n")
    monkeypatch.chdir(tmp_path)
    made = planned("mxnet", "kernels.py:lcm", size="small")
    assert {spec.dtype for case in made.cases for spec in case.arguments.values()} == {"float32"}


def test_numpys_functions_by_path_are_its_operators():
    (target,) = {case.target for case in planned("numpy", "numpy.linalg.solve").cases}
    assert target == OperatorTarget("numpy", "linalg.solve")


def test_what_numpy_has_and_is_no_operator_has_the_reason():
    made = planned("numpy", "numpy.datetime_as_string", "np.format_float_positional")
    assert set(made.excluded.values()) == {"makes or reads text"}


@pytest.mark.parametrize(
    ("path", "shapes"),
    [
        ("np.matmul", {"x1": (5, 7)}),
        ("np.matmul", {"x2": (7, 5)}),
        ("dot", {"lhs": (5, 7)}),
        ("np.linalg.solve", {"a": (6, 6)}),
        ("FullyConnected", {"data": (4, 9)}),
        ("Convolution", {"data": (2, 6, 16, 16)}),
        ("BatchNorm", {"data": (2, 6, 16, 16)}),
        ("Embedding", {"data": (4, 9)}),
    ],
)
def test_other_tensors_follow_from_a_users_shape(path, shapes):
    cases = planned("mxnet", path, size="small", shapes=shapes).cases
    # Groups of channels are plain numbers, which do not follow.
    records = [
        measure(case, load("mxnet")) for case in cases if case.arguments.get("num_group", 1) == 1
    ]
    assert records
    assert {record.reason for record in records if record.status is not Status.OK} == set()


def test_functions_that_errors_suggest_are_at_their_paths(framework):
    paths = framework.naming.function_paths()
    assert {"nd.add", "np.add", "np.linalg.solve"} <= set(paths)
    for path in paths:
        framework.naming.callable_target(path)
