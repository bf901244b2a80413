"""A run from the plan to the file: what is kept, when, and what a resumed run still does."""

from pathlib import Path

import msgspec
import pytest

from opperf.errors import OutputError, RunFileError
from opperf.execution.execute import NoFile, Rounds, execute, execute_to_file, find_pending
from opperf.execution.progress import Progress
from opperf.execution.run_header import make_folder, make_header, read_selection, run_file_path
from opperf.model import Record, Run, Settings, Status
from opperf.results.runfile import RunWriter, read_run
from opperf.sources.registry import plan
from opperf.sources.selecting import Selection
from opperf.worker.measure import measure
from tests.environments import make_environment

ENVIRONMENT = make_environment("fake")

SELECTION = Selection(
    patterns=("relu", "add*", "re:^neg"),
    exclude=("copyto",),
    categories=("unary", "binary"),
    size="small",
    shapes={"lhs": (2, 3)},
    backward=False,
    settings=Settings(dtype="float64", runs=2, warmup=0, threads=2, timeout_s=1.5),
)


class Logged(Progress):
    def __init__(self, log):
        self.log = log

    def begin(self, case):
        self.log.append(("begin", case.label))

    def end(self, record):
        self.log.append(("end", record.case.label))


class InProcess:
    """Stands in for an executor, and may be interrupted at a case."""

    lanes = 1

    def __init__(self, fake, stop_at=None):
        self.fake, self.stop_at, self.measured = fake, stop_at, []

    def environment(self, case):
        return ENVIRONMENT

    def measure(self, case):
        if len(self.measured) == self.stop_at:
            raise KeyboardInterrupt
        self.measured.append(case.id)
        return measure(case, self.fake)


@pytest.fixture
def planned(fake):
    return plan(fake, msgspec.structs.replace(SELECTION, shapes={}))


@pytest.fixture
def head(planned):
    return make_header(planned, SELECTION, "run relu", {"threads": (1, None)})


class Noted:
    """An executor of nothing, which notes what is measured in a log."""

    lanes = 1

    def __init__(self, log):
        self.log = log

    def environment(self, case):
        return ENVIRONMENT

    def measure(self, case):
        self.log.append(("measure", case.label))
        return Record(case=case, id=case.id, status=Status.OK)


class Storing(NoFile):
    def __init__(self, log):
        self.log = log

    def record(self, record):
        self.log.append(("store", record.case.label))


def test_a_record_is_stored_before_the_next_case_begins(make_case):
    log = []
    cases = [make_case(name) for name in ("relu", "add", "negative")]
    execute(Rounds(cases), Noted(log), Storing(log), Logged(log))
    assert log == [
        (what, case.label) for case in cases for what in ("begin", "measure", "store", "end")
    ]


class Full(Storing):
    def record(self, record):
        raise OutputError("no space left")


def test_what_cannot_be_stored_stops_the_run(make_case):
    log = []
    with pytest.raises(OutputError):
        execute(Rounds([make_case("relu"), make_case("add")]), Noted([]), Full(log), Logged(log))
    assert log == [("begin", "relu")]


def test_the_header_has_the_command_and_what_was_excluded(planned, head):
    assert head.options["command"] == "run relu"
    assert head.excluded == planned.excluded


def test_the_selection_is_read_back_from_the_file(head, tmp_path):
    path = tmp_path / "run.jsonl"
    with RunWriter.create(path, head):
        pass
    run, _ = read_run(path)
    assert read_selection(run) == (SELECTION, {"threads": (1, None)})


@pytest.mark.parametrize(
    "options", [{}, {"selection": {"patterns": 3}}, {"selection": {}, "axes": 3}]
)
def test_a_file_without_a_selection_is_refused(head, tmp_path, options):
    path = tmp_path / "run.jsonl"
    with RunWriter.create(path, msgspec.structs.replace(head, options=options)):
        pass
    with pytest.raises(RunFileError, match="has no valid selection"):
        read_selection(read_run(path)[0])


def test_a_whole_run(fake, planned, head, tmp_path):
    ids = [case.id for case in planned.cases]
    path = tmp_path / "run.jsonl"
    run = execute_to_file(
        path, head, planned.cases, planned.cases, InProcess(fake), Progress(), lambda: 12.5
    )
    assert [record.id for record in run.records] == ids
    assert run.closing.counts == {"ok": len(planned.cases)}
    assert run.closing.elapsed_s == 12.5
    assert read_run(path) == (run, [])
    assert find_pending(run) == ()


@pytest.mark.parametrize("stop_at", [0, 1, 3])
def test_an_interrupted_run_goes_on_where_it_stopped(fake, planned, head, tmp_path, stop_at):
    ids = [case.id for case in planned.cases]
    path = tmp_path / "run.jsonl"
    with pytest.raises(KeyboardInterrupt):
        execute_to_file(
            path,
            head,
            planned.cases,
            planned.cases,
            InProcess(fake, stop_at),
            Progress(),
            lambda: 1.0,
        )
    half, _ = read_run(path)
    assert half.closing is None
    assert [record.id for record in half.records] == ids[:stop_at]
    left = find_pending(half)
    assert left == planned.cases[stop_at:]
    worker = InProcess(fake)
    whole = execute_to_file(path, half, planned.cases, left, worker, Progress(), lambda: 2.0)
    assert worker.measured == ids[stop_at:]
    assert [record.id for record in whole.records] == ids
    assert whole.header == half.header
    assert whole.closing.counts == {"ok": len(planned.cases)}


def test_the_cases_that_are_left_keep_their_order(planned, head):
    done = [
        Record(case=case, id=case.id, status=Status.FAILED, reason="x")
        for case in planned.cases[1::2]
    ]
    run = Run(header=head, records=tuple(done), cases=planned.cases)
    assert find_pending(run) == planned.cases[::2]


def test_what_is_tried_again_is_what_was_asked_for(planned, head):
    statuses = [Status.OK, Status.FAILED, Status.TIMEOUT, Status.CRASHED]
    done = [
        Record(case=case, id=case.id, status=status)
        for case, status in zip(planned.cases, statuses, strict=False)
    ]
    run = Run(header=head, records=tuple(done), cases=planned.cases)
    rest = planned.cases[len(done) :]
    assert find_pending(run, {Status.FAILED}) == (planned.cases[1], *rest)
    assert find_pending(run, {Status.TIMEOUT, Status.CRASHED}) == planned.cases[2:]
    assert planned.cases[0] not in find_pending(run, set(Status) - {Status.OK})


def test_a_record_names_the_environment_it_was_made_in(fake, planned, head, tmp_path):
    run = execute_to_file(
        tmp_path / "run.jsonl",
        head,
        planned.cases,
        planned.cases,
        InProcess(fake),
        Progress(),
        float,
    )
    assert run.environments == {ENVIRONMENT.id: ENVIRONMENT}
    assert {record.environment for record in run.records} == {ENVIRONMENT.id}


def test_what_changes_from_moment_to_moment_is_no_other_environment(fake, planned, head, tmp_path):
    loads = iter(range(100))

    class Busier(InProcess):
        def environment(self, case):
            return msgspec.structs.replace(ENVIRONMENT, load_1min=float(next(loads)))

    run = execute_to_file(
        tmp_path / "run.jsonl", head, planned.cases, planned.cases, Busier(fake), Progress(), float
    )
    assert len(run.environments) == 1 and run.environment.load_1min == 0.0


def test_a_run_is_not_gone_on_with_in_another_environment(fake, planned, head, tmp_path):
    path = tmp_path / "run.jsonl"
    with pytest.raises(KeyboardInterrupt):
        execute_to_file(
            path, head, planned.cases, planned.cases, InProcess(fake, 1), Progress(), float
        )

    class Elsewhere(InProcess):
        def environment(self, case):
            return msgspec.structs.replace(ENVIRONMENT, cpu="another")

    half, _ = read_run(path)
    left = find_pending(half)
    with pytest.raises(RunFileError, match="cpu was 'A CPU' and is 'another'"):
        execute_to_file(path, half, planned.cases, left, Elsewhere(fake), Progress(), float)
    assert len(read_run(path)[0].records) == 1


def test_the_records_of_a_run_file_are_kept_in_itself(tmp_path):
    assert run_file_path(tmp_path / "a.jsonl", "jsonl") == tmp_path / "a.jsonl"


def test_the_records_of_other_formats_are_kept_in_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    path = run_file_path(Path("out.json"), "json")
    assert path.is_relative_to(tmp_path / "cache" / "opperf")
    assert path.name.startswith("out.json-") and path.suffix == ".jsonl"
    assert run_file_path(tmp_path / "out.json", "json") == path, "the same file, named in full"
    assert run_file_path(tmp_path / "other" / "out.json", "json") != path
    assert run_file_path(Path("out.md"), "md") != path
    assert list(tmp_path.iterdir()) == [], "asking for its name makes nothing"
    make_folder(path)
    assert path.parent.is_dir()


@pytest.mark.parametrize("value", [None, ""])
def test_the_cache_is_where_it_is_by_custom(tmp_path, monkeypatch, value):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    if value is not None:
        monkeypatch.setenv("XDG_CACHE_HOME", value)
    path = run_file_path(Path("out.json"), "json")
    assert path.is_relative_to(tmp_path / ".cache" / "opperf")


def test_a_cache_that_cannot_be_made_is_an_error_in_words(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    with pytest.raises(OutputError, match="OPPERF_CACHE"):
        make_folder(run_file_path(Path("out.json"), "json"))
