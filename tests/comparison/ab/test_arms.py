"""What an arm is set to, and what is no arm."""

import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

import opperf
from opperf.comparison.ab.arms import (
    COARSE_TIME_S,
    ArmSpec,
    Threads,
    arm_spec,
    choose_order,
    name_arms,
    plan_threads,
    read_arms,
    read_threads,
    selection_of,
    settings_of,
    with_all_threads,
    worker_of,
)
from opperf.errors import UsageError
from opperf.metrics import process_settings
from opperf.model import PASSES, Case, OperatorTarget, Settings, Status, TensorSpec
from opperf.sources.selecting import Selection
from opperf.worker.program import module_command


def test_every_kind_of_setting():
    found = arm_spec(
        [
            "env:OMP_NUM_THREADS=1",
            "env:FLAGS=-O2 -g=1",
            "env:EMPTY=",
            "options:fake.turbo=True",
            "options:fake.stretch=2",
            f"python:{sys.executable}",
            "ops:nd.add,nd.subtract",
            "ops:nd.dot",
            "dtype:Float16",
            "profiler:python",
            "threads:2",
            "cache:cold",
            "device:cpu(0)",
        ],
        "--a",
    )
    assert found == ArmSpec(
        variables={"OMP_NUM_THREADS": "1", "FLAGS": "-O2 -g=1", "EMPTY": ""},
        options={"fake.turbo": "true", "fake.stretch": "2"},
        python=sys.executable,
        operators=("nd.add", "nd.subtract", "nd.dot"),
        settings={
            "dtype": "float16",
            "profiler": "python",
            "threads": 2,
            "cache": "cold",
            "device": "cpu(0)",
        },
    )
    assert str(found).startswith(
        "env:OMP_NUM_THREADS=1 env:FLAGS=-O2 -g=1 env:EMPTY= options:fake.turbo=true "
        "options:fake.stretch=2 python:/"
    )
    assert str(found).endswith("threads:2 cache:cold device:cpu(0) ops:nd.add,nd.subtract,nd.dot")
    assert str(arm_spec(["threads:all"], "--a")) == "threads:all"


@pytest.mark.parametrize(
    "settings, words",
    [
        (["OMP_NUM_THREADS=1"], "an arm is set as KIND:VALUE"),
        (["envv:X=1"], "did you mean env?; kinds: device, dtype"),
        (["env:X"], "write it as env:NAME=VALUE"),
        (["env:=1"], "write it as env:NAME=VALUE"),
        (["options:fake.turbo"], "write it as options:NAME=VALUE"),
        (["options:a.b=1", "options:a.b=2"], "set twice"),
        (["compile_cache:hot"], "not one of warm, cold"),
        (["dtype:"], "no value after the colon"),
        (["threads:two"], "not a number of threads"),
        (["threads:0"], "not a number of threads"),
        (["cache:warm"], "not one of hot, cold"),
        (["ops:broadcast_*"], "full names"),
        (["ops:re:^sum"], "full names"),
        (["ops:add,"], "full names"),
        (["python:/nowhere/python"], "no such program"),
        (["python:/etc/passwd"], "not executable"),
        (["env:X=1", "env:X=2"], "set twice"),
        (["dtype:float32", "dtype:float64"], "set twice"),
        (["python:python3", "python:python3"], "set twice"),
    ],
)
def test_what_is_no_setting(settings, words):
    with pytest.raises(UsageError) as caught:
        arm_spec(settings, "--b")
    assert words in str(caught.value)
    assert str(caught.value).startswith(f"--b {settings[-1]!r}: ")


def test_an_interpreter_is_known_by_where_its_link_lies(tmp_path, monkeypatch):
    link = tmp_path / "bin" / "python"
    link.parent.mkdir()
    link.symlink_to(sys.executable)
    assert arm_spec([f"python:{link}"], "--a").python == str(link)
    monkeypatch.chdir(tmp_path)
    assert arm_spec(["python:bin/python"], "--a").python == str(link)
    monkeypatch.setenv("PATH", f"{link.parent}{os.pathsep}{os.environ['PATH']}")
    assert arm_spec(["python:python"], "--a").python == str(link)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert arm_spec(["python:~/bin/python"], "--a").python == str(link)


def test_one_arm_may_be_as_things_are():
    a, b = read_arms(name_arms((), ("env:X=1",), ()), True).values()
    assert a == ArmSpec(name="A") and str(a) == "nothing set"
    assert b.variables == {"X": "1"}


@pytest.mark.parametrize(
    "a, b, named, words",
    [
        ((), (), True, "A and B are the same (nothing set)"),
        (("threads:1",), ("threads:1",), True, "the same (threads:1)"),
        (("ops:add",), ("ops:add",), False, "measures A against itself"),
        (("ops:add",), (), False, "--a and --b name different numbers of operators"),
        (("ops:add,dot",), ("ops:add",), False, "--a and --b name different numbers of operators"),
        (("ops:add",), ("ops:dot",), True, "name no other operators"),
    ],
)
def test_what_is_no_comparison(a, b, named, words):
    with pytest.raises(UsageError) as caught:
        read_arms(name_arms(a, b, ()), named)
    assert words in str(caught.value)


def test_settings_are_over_what_the_arms_have_in_common():
    common = Selection(patterns=("add",), settings=Settings(dtype="float32", seed=7))
    found = selection_of(ArmSpec(settings={"dtype": "float64", "threads": 3}), common)
    assert found.patterns == ("add",)
    assert found.settings == Settings(dtype="float64", threads=3, seed=7)


@pytest.mark.parametrize(
    "arm, threads",
    [
        (ArmSpec(), 2),
        (ArmSpec(variables={"X": "1"}), 2),
        (ArmSpec(settings={"threads": 4}), 4),
        (ArmSpec(settings={"threads": None}), None),
        # A number of threads would override the variable.
        (ArmSpec(variables={"OMP_NUM_THREADS": "4"}), None),
        (ArmSpec(variables={"MKL_NUM_THREADS": "4"}, settings={"threads": 3}), 3),
    ],
)
def test_the_threads_of_an_arm_are_its_own_first(arm, threads):
    assert settings_of(arm, Settings(threads=2)).threads == threads
    with worker_of(arm, "fake", {}, threads=2) as worker:
        variable = worker._program.variables.get("OMP_NUM_THREADS")
        process = msgspec.json.decode(worker._program.arguments[1], type=Settings)
    assert variable == (arm.variables.get("OMP_NUM_THREADS") or (threads and str(threads)))
    # A worker measures only cases with its own process settings.
    assert process == process_settings(settings_of(arm, Settings(threads=2)))


def test_the_options_of_an_arm_are_beside_those_of_both():
    arm = ArmSpec(options={"a.b": "true", "a.c": "1"})
    common = Settings(options={"a.b": "false", "a.d": "2"})
    assert settings_of(arm, common).options == {"a.b": "true", "a.c": "1", "a.d": "2"}
    with worker_of(arm, "fake", {}) as worker:
        assert json.loads(worker._program.arguments[1])["options"] == arm.options


def test_variables_are_over_those_there_are():
    arm = ArmSpec(variables={"X": "2", "PYTHONPATH": "/mine"}, settings={"threads": 3})
    worker = worker_of(arm, "fake", {"X": "1", "Y": "1"})
    with worker:
        variables = worker._program.variables
    assert (variables["X"], variables["Y"], variables["OMP_NUM_THREADS"]) == ("2", "1", "3")
    assert variables["PYTHONPATH"] == "/mine"


def test_another_interpreter_finds_opperf_and_nothing_that_lies_beside_it(tmp_path):
    link = tmp_path / "python"
    link.symlink_to(sys.executable)
    with worker_of(ArmSpec(python=str(link)), "fake", {}) as worker:
        assert worker.is_foreign
    beside = str(Path(opperf.__file__).parents[1])
    # Run as a program, this module prints the path that modules are looked for on.
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    shown = subprocess.run(
        module_command("site", python=str(link)), env=variables, capture_output=True, text=True
    )
    assert "sys.path = [" in shown.stdout
    assert f"'{beside}'," not in shown.stdout


NOTHING_SET = (ArmSpec(), ArmSpec(variables={"X": "1"}))
BOTH = Threads(1, coarse=True)


@pytest.mark.parametrize(
    "text, threads",
    [
        ("1,all", BOTH),
        ("4", Threads(4)),
        ("all", Threads(None)),
        (" 2 , ALL ", Threads(2, coarse=True)),
    ],
)
def test_values(text, threads):
    assert read_threads(text) == threads
    assert read_threads(str(threads)) == threads


@pytest.mark.parametrize(
    "text", ["", "0", "-1", "many", "all,all", "all,1", "1,2", "1,", "1,all,2"]
)
def test_wrong_values(text):
    with pytest.raises(ValueError, match="is not") as caught:
        read_threads(text)
    assert "\n" not in str(caught.value)


def test_the_verdicts_have_one_thread_and_the_coarse_look_all():
    plan = plan_threads(BOTH, False, NOTHING_SET, {}, cores=2)
    assert plan.threads == BOTH
    assert str(plan) == "Verdicts with 1 thread, and a coarse look with all threads"


@pytest.mark.parametrize(
    "arms, environment, cores, number, why",
    [
        (NOTHING_SET, {}, 1, 1, "only one core can be used"),
        ((ArmSpec(), ArmSpec(settings={"threads": 4})), {}, 2, 1, "an arm sets its threads"),
        ((ArmSpec(settings={"threads": None}), ArmSpec()), {}, 2, 1, "an arm sets its threads"),
        (
            (ArmSpec(variables={"OPENBLAS_NUM_THREADS": "2"}), ArmSpec()),
            *({}, 2, 1, "an arm sets its threads"),
        ),
        (NOTHING_SET, {"MKL_NUM_THREADS": "2"}, 2, None, "MKL_NUM_THREADS is set"),
    ],
)
def test_the_coarse_look_is_dropped_and_the_reason_is_printed(
    arms, environment, cores, number, why
):
    plan = plan_threads(BOTH, False, arms, environment, cores)
    assert plan.threads == Threads(number)
    assert str(plan).endswith(f"; no coarse look: {why}")


def test_the_option_counts_before_an_inherited_variable_and_that_before_the_default():
    environment = {"OMP_NUM_THREADS": "4"}
    by_default = plan_threads(BOTH, False, NOTHING_SET, environment, cores=2)
    assert by_default.threads.number is None
    assert str(by_default).startswith("Verdicts with the threads of OMP_NUM_THREADS; no coarse")
    explicit = plan_threads(Threads(2, coarse=True), True, NOTHING_SET, environment, cores=2)
    # All threads would be those of the variable.
    assert explicit.threads == Threads(2)
    assert "OMP_NUM_THREADS is set" in str(explicit)
    empty = plan_threads(BOTH, False, NOTHING_SET, {"OMP_NUM_THREADS": ""}, cores=2)
    assert empty.threads == BOTH


@pytest.mark.parametrize(
    "threads, words", [(Threads(4), "4 threads"), (Threads(None), "all threads")]
)
def test_a_single_value_is_no_coarse_look_and_needs_no_reason(threads, words):
    plan = plan_threads(threads, True, NOTHING_SET, {}, cores=2)
    assert plan.threads == threads
    assert str(plan) == f"Verdicts with {words}"
    own = (ArmSpec(), ArmSpec(settings={"threads": 3}))
    plan = plan_threads(threads, True, own, {}, cores=2)
    assert str(plan) == f"Verdicts with {words} where an arm sets none"


def test_a_case_of_the_coarse_look():
    settings = Settings(threads=1, max_time_s=10.0, dtype="float64")
    case = Case(OperatorTarget("fake", "x"), {"data": TensorSpec((2,))}, settings, ("forward",))
    coarse = with_all_threads(case)
    assert coarse.settings == Settings(max_time_s=COARSE_TIME_S, dtype="float64")
    assert (coarse.target, coarse.arguments, coarse.passes) == (
        case.target,
        case.arguments,
        case.passes,
    )


def test_a_case_takes_no_longer_than_elsewhere():
    for seconds, coarse_s in ((COARSE_TIME_S / 2, COARSE_TIME_S / 2), (1.0, COARSE_TIME_S)):
        case = Case(OperatorTarget("fake", "add"), {}, Settings(max_time_s=seconds))
        assert with_all_threads(case).settings.max_time_s == coarse_s


@pytest.mark.parametrize(
    "a, b, more, names",
    [
        (("threads:1",), (), (), "A B"),
        ((), ("threads:2",), ("C=threads:3", "C=dtype:float64", "other="), "A B C other"),
        ((), (), ("old=", "new=threads:2", "x-1=threads:3"), "old new x-1"),
        ((), (), ("other=threads:2",), "A other"),
        ((), (), ("A=threads:1", "B=threads:2", "C=threads:3"), "A B C"),
        ((), ("threads:2",), ("A=threads:3",), "A B"),
    ],
)
def test_arms_are_named_in_order(a, b, more, names):
    found = name_arms(a, b, more)
    assert " ".join(found) == names
    assert found.get("C", ("", ["threads:3"]))[1][0] == "threads:3"


@pytest.mark.parametrize(
    "more, words",
    [
        (("threads:2",), "write it as NAME=KIND:VALUE"),
        (("a b=threads:2",), "a name has letters"),
        (("C=thread:2",), "--arm C 'thread:2'"),
        (("C=threads:2", "D=threads:2"), "C and D are the same (threads:2)"),
        (("C=",), "A and C are the same (nothing set); set the difference with --a and --arm"),
        (("C=ops:relu",), "--a and --arm C name different numbers of operators"),
        (tuple(f"a{n}=threads:{n + 3}" for n in range(7)), "9 arms are named; a session has 8"),
    ],
)
def test_what_is_no_further_arm(more, words):
    with pytest.raises(UsageError) as caught:
        read_arms(name_arms((), ("threads:9",), more), has_operators=False)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "more, order",
    [
        (("B=ops:k.py:new", "A=ops:k.py:old"), "alternate"),
        (("B=dtype:float64",), "alternate"),
        (("B=threads:2",), "block"),
        (("B=env:X=1",), "block"),
    ],
)
def test_calls_alternate_where_a_process_can_have_all_arms(more, order):
    arms = read_arms(name_arms((), (), more), has_operators=False)
    common = Selection(settings=Settings(threads=1))
    assert choose_order(None, arms, common) == choose_order("block", arms, common) == "block"
    if order == "alternate":
        assert choose_order("alternate", arms, common) == "alternate"
    else:
        with pytest.raises(UsageError, match="not possible, as the arms differ"):
            choose_order("alternate", arms, common)


def test_a_process_measures_the_cases_whose_calls_alternate(worker, make_case):
    cases = [make_case("relu", passes=passes) for passes in (PASSES, PASSES[:1])]
    records = worker.alternate(cases, "1", {})
    assert [(one.case, one.status) for one in records] == [(case, Status.OK) for case in cases]
    both, forward = ({name: set(own) for name, own in one.samples.items()} for one in records)
    assert both == {"forward": {1000.0}, "backward": {2500.0}, "total": {3500.0}}
    assert forward == {"forward": {1000.0}, "total": {1000.0}}
    for name, status, reason in (
        ("refuses", Status.FAILED, "shapes do not match"),
        ("leaves", Status.CRASHED, "exit code 8"),
    ):
        for record in worker.alternate([cases[1], make_case(name)], "1", {}):
            assert record.status is status and reason in record.reason
