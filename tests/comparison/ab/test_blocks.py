"""Replicates: one process each, whatever ends on the way."""

import math
from types import SimpleNamespace

import pytest

from opperf.comparison.ab.blocks import (
    ATTEMPTS,
    AlternatingProcesses,
    ArmProcesses,
    Blocks,
    cases_at,
    select_cases,
)
from opperf.comparison.ab.forecast import Stage
from opperf.comparison.ab.process import Lost
from opperf.comparison.ab.session_file import SessionWriter, read_session
from opperf.comparison.ab.slow_calls import ArmCalls, SlowPair
from opperf.errors import WorkerError
from opperf.execution.execute import execute
from opperf.execution.progress import Progress
from opperf.model import (
    PASSES,
    Case,
    FileTarget,
    OperatorTarget,
    Place,
    ProcessLine,
    Record,
    Settings,
    Status,
    TensorSpec,
)
from opperf.results.runfile import read_visits
from opperf.statistics.blocks import cases_of, effects
from opperf.statistics.data import PHASES
from opperf.statistics.design import visiting_order
from tests.comparison.ab.sessions import Stub, case, crashed, ok, session_of

STAGE = Stage("comparison", 0, 1, ())
PLACES = 4


class Counted(Progress):
    """Counts visits."""

    def __init__(self):
        self.begun = self.extended = 0

    def extend(self, number):
        self.extended += number

    def begin(self, case):
        self.begun += 1


@pytest.fixture
def measured(tmp_path):
    """Measures a block of cases; the session, as its file has it."""

    def done(does, *names, arms="AB", **plan):
        path = tmp_path / "s.jsonl"
        session = session_of(*map(case, names), arms=arms, **plan)
        progress = Counted()
        with (
            SessionWriter.create(path, session, overwrite=True) as writer,
            ArmProcesses(lambda arm: Stub(does, arm)) as processes,
        ):
            blocks = Blocks(writer, STAGE, processes)
            execute(blocks, processes, writer.store, progress)
        found, _ = read_session(path)
        assert kept(found) == kept(session)
        planned = len(blocks.places) * blocks.n_cases
        assert progress.begun == planned + progress.extended - _never(found)
        return found

    return done


def kept(session):
    """What verdicts are made of."""
    return [(one.line, one.values, one.reference, one.lost) for one in session.processes]


def _never(session):
    """Visits of cases that an earlier process has ended, which are planned and not made."""
    ended = {}
    lost = 0
    for process in session.processes:
        lost += sum(name in ended for name in session.cases_of("A"))
        ended |= {name: one for name, one in process.lost.items() if one.ended}
    return lost


def names(session, values):
    """Values by the operator's name."""
    labels = {pair.id: pair.label for pair in session.pairs}
    return {f"{labels[key.split()[0]]} {key.split()[1]}": one for key, one in values.items()}


def test_values_are_logarithms_of_medians(measured):
    session = measured(lambda worker, arm, case: ok(case, 20.0), "x", "y")
    assert len(session.processes) == PLACES
    for process in session.processes:
        assert names(session, process.values) == {
            f"{name} {metric}": math.log(20.0)
            for name in "xy"
            for metric in ("forward", "backward")
        }
        assert process.lost == {}
    assert sorted(one.line.place.arm for one in session.processes) == list("AABB")


def test_removed_work_is_looked_for_in_the_first_process_of_an_arm(measured):
    found = []

    def does(worker, arm, case):
        found.append((arm, worker.finds_removed_work))
        return ok(case, 20.0)

    measured(does, "x")
    assert len(found) == PLACES and [arm for arm, looks in found if looks] == [
        found[0][0],
        *({"A", "B"} - {found[0][0]}),
    ]


def test_a_slow_case_has_few_calls_and_one_that_is_decided_none(measured):
    names = {case(name).id: name for name in ("slow", "decided", "quick")}
    slow, decided, _ = names
    arms = {arm: ArmCalls(dict.fromkeys(PASSES, 20.0), True) for arm in "AB"}
    found = set()

    def does(worker, arm, case):
        found.add((case.label, case.passes, worker.few))
        return ok(case, 20.0)

    plan = {slow: SlowPair(arms), decided: SlowPair(arms, ("forward",))}
    session = measured(does, *names.values(), slow=plan)
    few = plan[slow].few_calls("A")
    assert few.first_s is not None
    assert found == {
        ("slow", PASSES, few),
        ("decided", ("backward",), few),
        ("quick", PASSES, None),
    }
    assert session.decided == {f"{decided} forward"}


@pytest.mark.parametrize("status", [Status.CRASHED, Status.TIMEOUT])
def test_a_case_that_ends_its_process_begins_the_replicate_anew_without_it(measured, status):
    def does(worker, arm, case):
        return crashed(case, status) if case.label == "bad" else ok(case, 100.0 * worker.launches)

    session = measured(does, "bad", *"abcdefgh")
    first, *others = session.processes
    arm = first.line.place.arm
    # All values are from the process that lived.
    assert set(first.values.values()) == {math.log(200.0)}
    assert all(len(one.values) == 16 for one in session.processes)
    bad = session.pairs[0].id
    assert first.lost == {bad: Lost(f"{arm}: {status.value}: SIGSEGV", ended=True)}
    assert all(one.lost == {} for one in others) and session.lost.keys() == {bad}


def test_a_process_that_ends_between_two_cases_costs_none(measured):
    died = []

    def does(worker, arm, case):
        if case.label == "c" and not died:
            died.append(case)
            worker.launches += 1
        return ok(case, 100.0 * worker.launches)

    first, *_ = measured(does, *"abcd").processes
    assert set(first.values.values()) == {math.log(300.0)}
    assert len(first.values) == 8 and first.lost == {}


def test_a_machine_on_which_everything_ends_is_given_up(measured, tmp_path):
    begun = []

    def does(worker, arm, case):
        begun.append(case.label)
        return crashed(case)

    with pytest.raises(WorkerError) as caught:
        measured(does, *"abcdefghij")
    assert len(begun) == len(set(begun)) == ATTEMPTS
    assert str(caught.value).startswith(
        f"no worker completed the replicate: {ATTEMPTS} processes of arm "
    )
    assert "SIGSEGV" in str(caught.value)
    # What was measured is there, and no process of it counts.
    run, _ = read_visits(tmp_path / "s.jsonl")
    assert len(run.records) == ATTEMPTS and run.processes == ()


def test_without_cases_no_process_is_begun(tmp_path):
    session = session_of(case("x"))
    path = tmp_path / "s.jsonl"
    with (
        SessionWriter.create(path, session, overwrite=True) as writer,
        ArmProcesses(lambda arm: pytest.fail("a process")) as processes,
    ):
        blocks = Blocks(writer, Stage("comparison", 0, 1, ("none forward",)), processes)
        execute(blocks, processes, writer.store, Progress())
    assert [process.values for process in session.processes] == [{}] * PLACES


def test_a_figure_that_is_missing_has_a_reason(measured):
    def does(worker, arm, case):
        if case.label == "fails":
            return Record(case=case, id=case.id, status=Status.FAILED, reason="no memory")
        return ok(case, 0.0) if case.label == "instant" else ok(case)

    session = measured(does, "fails", "fine", "instant")
    process = session.processes[0]
    assert names(session, process.values).keys() == {"fine forward", "fine backward"}
    fails, _, instant = (pair.id for pair in session.pairs)
    arm = process.line.place.arm
    assert process.lost == {
        fails: Lost(f"{arm}: failed: no memory"),
        instant: Lost(f"{arm}: forward: its median is zero; backward: its median is zero"),
    }


def test_three_arms_are_measured_in_one_block(measured):
    session = measured(lambda worker, arm, case: ok(case, ord(arm)), "x", arms="ABC")
    arms = [process.line.place.arm for process in session.processes]
    assert sorted(arms) == list("AABBCC") and arms == arms[::-1]
    (x,) = session.pairs
    for new, (_, *others) in zip("BC", session.comparisons, strict=True):
        values = {one.arm: one.values[f"{x.id} forward"] for one in others}
        assert values["B"] == math.log(ord(new)) and values.get("A", math.log(65)) == math.log(65)


def test_processes_of_one_arm_in_a_block_are_of_one_worker(measured):
    workers = []

    def does(worker, arm, case):
        workers.append((arm, worker))
        return ok(case)

    measured(does, "x")
    assert len(set(workers)) == 2 and {worker.launches for _, worker in workers} == {2}


def test_arms_visit_cases_in_the_same_order_and_the_next_ones_in_another(measured):
    visited = []

    def does(worker, arm, case):
        visited.append(case.label)
        return ok(case)

    session = measured(does, *"abcdefgh")
    orders = [visited[start : start + 8] for start in range(0, 32, 8)]
    assert orders[0] == orders[1] != orders[2] == orders[3]
    of_label = {pair.id: pair.label for pair in session.pairs}
    assert orders[0] == [of_label[id] for id in visiting_order(of_label, 0, "comparison", 0, 0)]


def test_what_is_visited():
    cases = {name: case(name) for name in "xyz"}
    assert select_cases(cases, (), {}) == cases
    some = select_cases(cases, ("x backward", "z forward", "z backward"), {})
    assert {name: one.passes for name, one in some.items()} == {
        "x": ("backward",),
        "z": ("forward", "backward"),
    }
    lost = {"x": Lost("crashed", ended=True), "y": Lost("failed once")}
    assert select_cases(cases, (), lost).keys() == {"y", "z"}


class Measured:
    """A session with these cases, and what it has lost."""

    def __init__(self, cases, lost, coarse_lost):
        self._cases, self.lost, self.coarse_lost = cases, lost, coarse_lost
        self.pairs, self.plan, self.decided = (), SimpleNamespace(gate=None), frozenset()
        self.figures = ()

    def cases_of(self, arm):
        return self._cases


def test_the_coarse_look_measures_with_all_threads_what_has_ended_no_process():
    cases = {name: case(name, threads=1) for name in "xyz"}
    ended, failed = Lost("crashed", ended=True), Lost("failed once")
    session = Measured(cases, {"x": ended, "y": failed}, {"y": failed, "z": ended})
    coarse = cases_at(Stage("coarse", 0, 4, ()), session, "B")
    assert coarse.keys() == {"y"}
    assert coarse["y"].settings.threads is None
    verdicts = cases_at(Stage("comparison", 0, 4, ()), session, "B")
    assert verdicts == {"y": cases["y"], "z": cases["z"]}


class Noted(Stub):
    """A worker that notes when it starts, and how its processes begin."""

    def __init__(self, events, arm):
        super().__init__(lambda worker, arm, case: ok(case), arm)
        self.events = events

    def launch(self, cpus, options=()):
        self.events.append(("launched", self._arm))

    def begin_process(self, devices, rehearsed=False):
        self.events.append(("begun", self._arm, rehearsed))


def events_of(tmp_path, stage, *cases):
    """What the workers of a stage do, in order."""
    events = []
    session = session_of(*cases)
    with (
        SessionWriter.create(tmp_path / "s.jsonl", session, overwrite=True) as writer,
        ArmProcesses(lambda arm: Noted(events, arm)) as processes,
    ):
        execute(Blocks(writer, stage, processes), processes, writer.store, Counted())
    return events


def test_the_workers_of_a_block_start_together_and_serve_no_other(tmp_path):
    events = events_of(tmp_path, STAGE._replace(n_blocks=2), case("x"))
    kinds = [event[0] for event in events]
    assert kinds == [*["launched"] * 2, *["begun"] * PLACES] * 2
    assert {event[1] for event in events[:2]} == {"A", "B"}


def test_the_coarse_look_has_the_same_workers_in_all_of_its_blocks(tmp_path):
    events = events_of(tmp_path, Stage("coarse", 0, 3, ()), case("x"))
    assert [event[0] for event in events] == ["launched"] * 2 + ["begun"] * 3 * PLACES


@pytest.mark.parametrize(
    ("other", "is_plain"),
    [
        (case("y"), True),
        (case("y", mode="compile"), False),
        (
            Case(
                OperatorTarget("fake", "y"),
                {"data": TensorSpec((2, 3), layout="csr", density=0.5)},
                Settings(),
                ("forward",),
            ),
            False,
        ),
        (Case(FileTarget("fake", "f.py", "y"), {}, Settings(), ("forward",)), False),
    ],
)
def test_what_only_calls_operators_on_dense_tensors_begins_as_rehearsed(tmp_path, other, is_plain):
    events = events_of(tmp_path, STAGE, case("x"), other)
    assert {event[2] for event in events if event[0] == "begun"} == {is_plain}


def test_alternating_arms_are_in_one_process(tmp_path):
    asked = []

    class Both(Stub):
        def alternate(self, cases, draw, results, finds_removed_work, few):
            asked.append((self._arm, self.launches, finds_removed_work, draw.rpartition(" ")[0]))
            return tuple(ok(one, 1000.0 * (2 + place)) for place, one in enumerate(cases))

    session = session_of(case("a"), case("b"), order="alternate", seed=5)
    with SessionWriter.create(tmp_path / "s.jsonl", session, overwrite=True) as writer:
        for phase, number in (("control", 2), ("comparison", 3)):
            with AlternatingProcesses(lambda arm: Both(None, arm)) as processes:
                blocks = Blocks(writer, Stage(phase, 0, number, ()), processes)
                execute(blocks, processes, writer.store, Progress())
    read, _ = read_session(tmp_path / "s.jsonl")
    assert read.n_processes == 5 and len(asked) == 10
    # Two imports in turn, each block a fork; the first one looks for removed work.
    assert [launches for _, launches, _, _ in asked] == [1, 1, 1, 1, 1, 1, 1, 1, 2, 2]
    assert [first for _, _, first, _ in asked] == [True] * 2 + [False] * 8
    assert len({draw for *_, draw in asked}) == 5
    for one in (read, session):
        found = [effects(one.replicates, phase, cases_of(one.replicates)) for phase in PHASES]
        assert [own.values.shape for own in found] == [(4, 2), (4, 3)]
        assert found[1].values == pytest.approx(math.log(1.5))


def test_a_ratio_is_the_median_over_rounds():
    session = session_of(RELU := case("relu", ("forward",)), order="alternate")
    for arm, samples in (("A", [1.0, 10.0, 2.0]), ("B", [2.0, 30.0, 8.0])):
        record = ok(session.cases_of(arm)[RELU.id], 5.0, samples={"forward": samples})
        session.add(ProcessLine(Place("comparison", 0, 0, arm, arm), "", 1.0), [record])
    a, b = (one.values[f"{RELU.id} forward"] for one in session.replicates)
    assert b - a == pytest.approx(math.log(3.0))
