"""Calls measured in this process, and saved to a run file."""

import json
import sys
from inspect import signature
from types import ModuleType

import msgspec
import numpy as np
import pytest

from opperf.api import calls
from opperf.api.calls import framework_of_call
from opperf.api.selections import Runners
from opperf.errors import DeviceError, OutputError, UsageError
from opperf.execution import execute
from opperf.frameworks.installed import Package
from opperf.model import Status
from opperf.results.runfile import read_run
from opperf.utils.benchmark_utils import run_performance_test

FEW = {"warmup": 0, "runs": 3, "framework": "numpy"}


def test_results_are_saved_and_the_same(tmp_path):
    path = tmp_path / "saved.jsonl"
    inputs = [{"x": (4, 5)}, {"x": np.ones((2, 3))}]
    (made,) = run_performance_test([np.negative], inputs, save=path, **FEW)
    run, warnings = read_run(path)
    assert warnings == [] and run.closing is not None
    assert [record.status for record in run.records] == [Status.OK] * 2
    times = [record.summaries["forward"].mean / 1e6 for record in run.records]
    shown = [one["forward_mean_ms"] for one in made["negative"]]
    assert shown == pytest.approx(times, abs=1e-5)


def test_what_waited_for_a_core_is_not_measured_again_with_other_threads(tmp_path, monkeypatch):
    def contended(records, unsettled):
        (record,) = records
        settings = msgspec.structs.replace(record.case.settings, threads=1)
        case = msgspec.structs.replace(record.case, settings=settings)
        return [(case, [record.id])]

    monkeypatch.setattr(execute, "find_contended", contended)
    path = tmp_path / "saved.jsonl"
    run_performance_test(np.exp, [{"x": (2, 2)}], framework="numpy", runs=2, save=path)
    (record,) = read_run(path)[0].records
    assert record.status is Status.OK


def test_a_file_is_never_replaced(tmp_path):
    path = tmp_path / "saved.jsonl"
    path.write_text("mine")
    with pytest.raises(OutputError, match="exists; remove it, or save to another file"):
        run_performance_test(np.negative, [{"x": (2,)}], save=str(path), **FEW)
    assert path.read_text() == "mine"


def test_functions_of_one_name_are_not_saved_together(tmp_path):
    path = tmp_path / "saved.jsonl"
    both = [lambda x: -x, lambda x: x + 1]
    with pytest.raises(UsageError, match="several of the callables are .*<lambda>"):
        run_performance_test(both, [{"x": (2,)}], save=path, **FEW)
    assert not path.exists()
    first, second = run_performance_test(both, [{"x": (2,)}], **FEW)
    assert list(first) == list(second) == ["<lambda>"]


def test_what_is_no_path_is_refused():
    with pytest.raises(UsageError, match="save is a path, not 3"):
        run_performance_test(np.negative, [{"x": (2,)}], save=3, **FEW)


class Device:
    __module__ = "lightninglib.devices"


def plain(x):
    return -x


def with_numpy(x):
    return np.negative(x)


def loaded(monkeypatch, *names):
    """Frameworks, each with a package of its name, of which the process has imported NumPy's and
    these."""
    known = ("lightning", "thunder", "numpy")
    monkeypatch.setattr(calls, "available", lambda: known)
    monkeypatch.setattr(calls, "is_available", lambda name: True)
    monkeypatch.setattr(
        calls, "package_of", lambda name: Package(name, "", name, parts=(f"{name}lib",))
    )
    for name in names:
        module = ModuleType(name)
        module.flash = type("Flash", (), {"__module__": f"{name}.ops"})()
        monkeypatch.setitem(sys.modules, name, module)


def function_using(name, attribute=""):
    space = {"used": sys.modules[name]} if not attribute else {"used": sys.modules[name].flash}
    exec("def function(x):\n    return used(x)", space)
    return space["function"]


def test_a_call_belongs_to_the_framework_of_its_function_arrays_device_or_of_what_it_uses(
    monkeypatch,
):
    loaded(monkeypatch, "lightning", "thunder")
    thunder = sys.modules["thunder"].flash
    assert framework_of_call(thunder, []) == "thunder"
    assert framework_of_call(plain, [{"x": thunder}]) == "thunder"
    assert framework_of_call(plain, [{"x": (2,)}], Device()) == "lightning"
    for attribute in ("", "flash"):
        assert framework_of_call(function_using("thunder", attribute), []) == "thunder"
    # The function's own arrays count first.
    assert framework_of_call(function_using("lightning"), {"x": thunder}) == "thunder"
    assert framework_of_call(plain, [{"x": (2,)}], "cpu(0)") == ""
    assert framework_of_call(with_numpy, [{"x": (2,)}]) == ""
    assert framework_of_call(np.negative, []) == "numpy"


def test_a_function_of_any_arrays_belongs_to_the_only_framework_that_is_imported(monkeypatch):
    loaded(monkeypatch, "lightning")
    assert framework_of_call(plain, [{"x": (2,)}]) == "lightning"
    assert framework_of_call([with_numpy], [{"x": (2,)}]) == "lightning"
    assert framework_of_call(np.negative, []) == "numpy"


def test_a_device_has_two_names():
    inputs = [{"x": (2, 2)}]
    for name in ("ctx", "device"):
        (made,) = run_performance_test(np.negative, inputs, **FEW, **{name: "cpu(0)"})
        assert made["negative"][0]["forward_median_ms"] > 0
        with pytest.raises(DeviceError, match=r"gpu\(3\)"):
            run_performance_test(np.negative, inputs, **FEW, **{name: "gpu(3)"})
        runners = Runners("numpy")
        for runner in (runners.add("unary", "one"), runners.all("NumPy")):
            with pytest.raises(DeviceError, match=r"gpu\(3\)"):
                runner(**{name: "gpu(3)"})
            assert list(signature(runner).parameters)[0] == "ctx"
            assert "device" not in signature(runner).parameters, "not one of MXNet's utility"


def test_a_device_by_both_names_is_refused():
    runner = Runners("numpy").add("unary", "one")
    both = {"ctx": "cpu", "device": "cpu"}
    for call in (
        lambda: run_performance_test(np.negative, [{"x": (2, 2)}], **FEW, **both),
        lambda: runner(**both),
        lambda: runner("cpu", device="cpu"),
    ):
        with pytest.raises(UsageError, match="two names of one argument"):
            call()


def test_inputs_of_results_are_json_with_arrays_as_mxnet_shows_them():
    array, number = np.ones((3, 4), "float32"), np.float32(2)
    inputs = {"x1": [array, (2, 3)], "x2": {"k": array}, "n": number, "t": np.int8, "f": 1j}
    shown = {name: calls._shown(value, "cpu(0)") for name, value in inputs.items()}
    text = "<ndarray 3x4 @cpu(0)>"
    assert shown == {"x1": [text, (2, 3)], "x2": {"k": text}, "n": 2.0, "t": "int8", "f": "1j"}
    json.dumps(shown)
    ((result,),) = (
        by_name["add"]
        for by_name in run_performance_test(np.add, inputs={"x1": array, "x2": array}, runs=2)
    )
    assert result["inputs"] == {"x1": text, "x2": text}


def test_an_ndarray_is_shown_as_mxnet_does():
    mx = pytest.importorskip("mxnet")
    array = mx.nd.ones((3, 4))
    assert calls._shown(array, "cpu(0)") == str(array).splitlines()[-1]
