"""The plan of a suite: cases and facts of benches, and what costs a bench."""

from collections import namedtuple
from pathlib import Path

import pytest

from opperf.errors import UsageError
from opperf.execution import benches as module
from opperf.execution.benches import BenchEnvironment, Benches, axes_of, voirfiles_of
from opperf.execution.case_source import Asked, plan_source
from opperf.execution.fleet.connecting import NodeCounts
from opperf.frameworks import load
from opperf.machine.kernel import usable_cpus
from opperf.machine.pinning import NONE, Pinning
from opperf.model import Interpreter, NodeWords, ScriptTarget
from opperf.sources.selecting import Selection
from opperf.suites.bench import Bench, EnvironmentSpec, Location, Plan, Usage, Voir
from tests.conftest import InProcess, InProcessWorkers

SuitePlan = namedtuple("SuitePlan", "plan benches")

EXP = {"framework": ("numpy",), "dtype": ("float32", "float64"), "max_configs": ("1",)}


@pytest.fixture
def planned():
    """Returns the plan of benches, and what was said."""
    worker = InProcess(load("numpy"))

    def made(
        *benches,
        environments=None,
        obstacles=None,
        there=None,
        selection=Selection(),  # noqa: B008
        cpus=NONE,
        nodes=(),
    ):
        workers, said = InProcessWorkers(worker, [], pinning=Pinning(cpus)), []
        source = Benches(benches, environments or {}, obstacles or {}, nodes, there or {})
        found = plan_source(source, Asked(workers, selection, {}, (), (), said.append))
        return SuitePlan(found.plan, found.benches), said

    return made


def script(tmp_path, name="loop", **fields):
    folder = tmp_path / name
    folder.mkdir(exist_ok=True)
    (folder / "main.py").write_text("pass")
    return Bench(name, "script", (str(folder),), **fields)


def test_a_script_is_a_case_with_what_its_file_says(planned, tmp_path):
    bench = script(
        tmp_path,
        argv=("--n", "3"),
        plan=Plan("njobs", 2),
        num_machines=3,
        max_duration_s=5,
        voir=Voir(stop=7, skip=2),
        usage=Usage(load=0.5),
        env=EnvironmentSpec(variables={"A": "1"}),
        weight=2.0,
        group="loops",
        point={"n": 3},
    )
    (tmp_path / "loop" / "voirfile.py").write_text("")
    (plan, facts), said = planned(
        bench, environments={"loop": [BenchEnvironment(Interpreter("/x/python", "loops"))]}
    )
    (case,) = plan.cases
    target = case.target
    assert isinstance(target, ScriptTarget) and target.argv == ("--n", "3")
    assert (target.processes, target.nodes, target.stop, target.skip) == (2, 3, 7, 2)
    assert target.script.endswith("loop/main.py") and target.voirfile.endswith("loop/voirfile.py")
    settings = case.settings
    assert (settings.timeout_s, settings.env, settings.python) == (5, {"A": "1"}, "loops")
    (fact,) = facts
    (tmp_path / "loop" / "main.py").write_text("pass  # changed")
    ((_, changed), _) = planned(bench)
    assert fact.version and changed[0].version != fact.version
    assert fact.cases == (case.id,) and fact.processes == 6 and fact.expected == 7
    assert (fact.weight, fact.group, fact.env, fact.gpu_load) == (2.0, "loops", "loops", 0.5)
    assert list(fact.config["argv"]) == ["--n", "3"] and fact.point == {"n": 3} and said == []


def test_a_script_has_a_process_for_each_gpu_and_core_that_it_may_use(
    planned, tmp_path, monkeypatch
):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1,2,3")
    monkeypatch.setattr(module, "has_driver", lambda: True)
    two = EnvironmentSpec(variables={"CUDA_VISIBLE_DEVICES": "4,6"})
    cpu = min(usable_cpus())
    (plan, facts), _ = planned(
        script(tmp_path, "all", plan=Plan("per_gpu"), num_machines=2),
        script(tmp_path, "two", plan=Plan("per_gpu"), env=two),
        script(tmp_path, "cores", plan=Plan("per_core")),
        cpus=str(cpu),
    )
    assert [case.target.processes for case in plan.cases] == [4, 2, 1]
    assert [(fact.processes, fact.gpus) for fact in facts] == [(8, 8), (2, 2), (1, 4)]
    monkeypatch.setattr(module, "has_driver", lambda: False)
    _, (fact,) = planned(script(tmp_path, "none", plan=Plan("per_gpu")))[0]
    assert fact.gpus == 0


def test_operators_and_models_are_planned_as_by_their_commands(planned):
    (plan, facts), _ = planned(Bench("few", "operators", ("exp", "add"), settings=EXP))
    dtypes = {(case.label, case.settings.dtype) for case in plan.cases}
    assert dtypes == {(name, dtype) for name in ("exp", "add") for dtype in EXP["dtype"]}
    assert facts[0].cases == tuple(case.id for case in plan.cases) and facts[0].expected == 0


def test_parts_know_all_benches(planned):
    bench = Bench("few", "operators", ("exp", "add"), settings=EXP)
    whole, _ = planned(bench)
    parts = [planned(bench, selection=Selection(partition=(n, 2)))[0] for n in range(2)]
    assert all(part.benches == whole.benches for part in parts)
    cases = {case.id for part in parts for case in part.plan.cases}
    assert cases == set(whole.benches[0].cases)


def test_files_are_sources(planned, tmp_path):
    (tmp_path / "s.py").write_text(
        "from opperf.snippets import TimerArgs\n"
        "BENCHMARKS = {'plus': TimerArgs('x + 1', 'x = 1')}\n"
    )
    env = EnvironmentSpec(variables={"A": "1"})
    bench = Bench("pieces", "snippets", (str(tmp_path / "s.py"),), max_duration_s=9, env=env)
    (plan, _), _ = planned(bench)
    assert all(case.settings.env == {"A": "1"} for case in plan.cases)
    assert [(case.label, case.settings.timeout_s) for case in plan.cases] == [("plus/Python", 9)]


def test_what_cannot_be_planned_costs_its_own_bench(planned, tmp_path):
    where = {"definition": Location("a.yaml", 3, "gone.definition")}
    benches = (
        Bench("gone", "script", (str(tmp_path / "gone"),), locations=where),
        Bench("off", "operators", ("exp",), enabled=False),
        Bench("odd", "operators", ("expp",), settings=EXP),
        Bench("none", "model", ("nothing",)),
        Bench("bare", "operators", ("exp",), settings=EXP),
        Bench("good", "operators", ("exp",), settings=EXP),
    )
    (plan, facts), said = planned(
        *benches, environments={"bare": "no such package"}, obstacles={"off": "it is disabled"}
    )
    reasons = {fact.name: fact.why_not for fact in facts}
    assert reasons["gone"].startswith("a.yaml:3: gone.definition: ") and reasons["good"] == ""
    assert reasons["off"] == "it is disabled" and reasons["bare"] == "no such package"
    assert "did you mean exp" in reasons["odd"] and "'nothing' is no model" in reasons["none"]
    assert {fact.name for fact in facts if fact.is_broken} == {"gone", "odd", "none", "bare"}
    assert {case.label for case in plan.cases} == {"exp"}
    assert [line.split()[1] for line in said] == ["gone", "odd", "none", "bare"]
    with pytest.raises(UsageError, match="nothing to run: gone: a.yaml:3"):
        planned(benches[0])


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"dtyp": ("float32",)}, "unknown setting 'dtyp'; did you mean dtype"),
        ({"threads": ("many",)}, "odd.threads: "),
        ({"size": ("small", "large")}, "small, large; give one"),
        ({"max_configs": ("0",)}, "'0' is not a number of at least 1"),
    ],
)
def test_settings_that_there_are_not_are_named_with_their_place(planned, settings, message):
    with pytest.raises(UsageError, match=message):
        planned(Bench("odd", "operators", ("exp",), settings={**settings, "framework": ("numpy",)}))


def test_values_of_settings_are_read_as_the_command_line_has_them():
    axes = axes_of(Bench("b", "operators", settings={"threads": ("1", "all"), "size": ("small",)}))
    assert axes == {"threads": (1, None)}


def test_counts_are_those_that_every_node_of_a_cluster_has(planned, tmp_path):
    nodes = (NodeCounts("a", 64, 32, 8), NodeCounts("b", 16, 9, 4))
    benches = [
        script(tmp_path, "gpus", plan=Plan("per_gpu"), num_machines=2),
        script(tmp_path, "cores", plan=Plan("per_core")),
        script(tmp_path, "three", plan=Plan("njobs", 3)),
    ]
    (plan, facts), _ = planned(*benches, nodes=nodes)
    assert [case.target.processes for case in plan.cases] == [4, 9, 3]
    assert [(fact.processes, fact.gpus) for fact in facts] == [(8, 8), (9, 4), (3, 4)]


def test_a_case_has_what_is_other_on_nodes_and_one_id(planned, tmp_path):
    def made(size):
        env = EnvironmentSpec(variables={"SIZE": size})
        return script(tmp_path, "sized", argv=("--size", size), env=env)

    there = {node: {"sized": made(size)} for node, size in (("a", "2"), ("b", "8"))}
    (plan, _), _ = planned(made("2"), there=there)
    (case,) = plan.cases
    assert case.target.argv == ("--size", "2")
    assert case.target.at_nodes == {"b": NodeWords(("--size", "8"), variables={"SIZE": "8"})}
    (plan, _), _ = planned(made("2"))
    assert [alone.id for alone in plan.cases] == [case.id]


def test_instruments_of_voir_are_those_that_voir_finds(tmp_path, monkeypatch):
    monkeypatch.delenv("VOIRFILE", raising=False)
    folder = tmp_path / "a b" / "code"
    folder.mkdir(parents=True)
    names = ("train.voirfile.py", "voirfile.py", "../voirfile.py")
    for name in (*names, "other.voirfile.py"):
        (folder / name).write_text("")
    found = [file.resolve() for file in voirfiles_of(folder / "train.py")]
    assert found == [(folder / name).resolve() for name in names]
    monkeypatch.setenv("VOIRFILE", "x.py y.py")
    assert voirfiles_of(folder / "train.py") == [Path("x.py"), Path("y.py")]
