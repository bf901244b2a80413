"""The search through a repository, with a judge that knows the answer."""

import math
from pathlib import Path

import msgspec
import pytest

from opperf.comparison.compared import Change, ChangeKind
from opperf.errors import OutputError, RunFileError, TimeLimitError, UsageError, WorkerError
from opperf.history.bisection.bisecting import Bisecting, Options
from opperf.history.bisection.report import report_for
from opperf.history.bisection.results import VERSION, Figure, State, Step, read_state, write_state
from opperf.history.builds import Build, BuildError, Recipe
from opperf.reports.formats import REPORT, formats_of
from opperf.repository import Commit
from opperf.statistics.data import Verdict

COMMITS = tuple(
    Commit(f"{number:040x}", author="A", date="2026", subject=f"Revision {number}")
    for number in range(21)
)


WHY = "failed: ValueError: no"


def figure(effect, verdict, operator="total", error=0.004):
    return Figure(
        id=operator,
        operator=operator,
        inputs="x: (8,)",
        metric="forward",
        verdict=verdict,
        ratio=math.exp(effect),
        low=math.exp(effect - 2 * error),
        high=math.exp(effect + 2 * error),
        error=error,
        freedom=6,
        blocks=4,
    )


class Fake:
    """A builder and a judge of commits of which number 13 made `total` slower, and 5 `other`."""

    failure = WorkerError("the process ended")

    def __init__(self, first_bad=13, loss=0.05, broken=(), failing=(), raising=(), state=None):
        self.first_bad, self.loss, self.broken, self.failing = first_bad, loss, broken, failing
        self.raising = raising
        self.state = state or State(VERSION, "/repository", COMMITS, Recipe())
        self.built, self.asked, self.saved, self.said = [], [], [], []
        self.invalid = 0

    def build(self, commit):
        number = int(commit.sha, 16)
        if number in self.broken:
            raise BuildError("exit code 1; last output: no header")
        self.built.append(number)
        return Build(commit.sha, f"/builds/{number}")

    def judge(self, good, other, ask):
        number = int(other.commit, 16)
        assert good.commit == COMMITS[0].sha
        self.asked.append((number, ask))
        if number in self.failing:
            raise self.failure
        if self.invalid:
            self.invalid -= 1
            return Step(0, (), "A differed from itself")
        figures = tuple(self.figures(number))
        raised = ()
        if number in self.raising:
            figures = tuple(own for own in figures if own.id != "total")
            raised = (Change(ChangeKind.BROKEN, "total", "total", "x: (8,)", reason=WHY),)
        ran = tuple(own.id for own in figures)
        file = f"{number}.jsonl"
        return Step(0, figures, seconds=1.0, file=file, ran=ran, failures=raised)

    def figures(self, number):
        for operator, first_bad in (("total", self.first_bad), ("other", 5)):
            is_bad = number >= first_bad and self.loss
            effect = math.log1p(self.loss if operator == "total" else 0.04) if is_bad else 0.0
            error = 0.004 if operator == "total" else 0.0045
            word = (Verdict.REGRESSED if effect > 0 else Verdict.IMPROVED) if is_bad else "same"
            yield figure(effect, Verdict(word), operator, error)

    def bisecting(self, **options):
        return Bisecting(
            self.state,
            self.build,
            self.judge,
            Options(**options),
            self.saved.append,
            self.said.append,
        )

    def run(self, **options):
        return self.bisecting(**options).run()


@pytest.mark.parametrize("first_bad", [1, 8, 13, 20])
def test_the_first_bad_commit_is_found(first_bad):
    found = Fake(first_bad).run()
    assert (found.outcome, found.candidates) == ("found", (COMMITS[first_bad],))
    assert found.probability >= 0.95
    ratio, low, high = found.loss
    assert low < 1.05 < high
    assert ratio == pytest.approx(1.05, abs=0.01)
    assert len(found.state.steps) < 12


def test_an_improvement_is_found_too():
    fake = Fake(loss=-0.05)
    fake.figures = lambda number: [list(Fake.figures(fake, number))[0]]
    found = fake.run()
    assert (found.outcome, found.first) == ("found", 13)
    assert found.loss[0] == pytest.approx(0.95, abs=0.01)


def test_other_figures_are_placed_by_the_same_steps():
    found = Fake().run()
    (other,) = found.others
    assert other.figure.operator == "other"
    assert int(other.first, 16) <= 5 <= int(other.last, 16)


def test_steps_measure_what_changed_against_a_part_of_the_loss():
    fake = Fake()
    fake.run()
    (last, ends), *steps = fake.asked
    assert (last, ends.cases, ends.threshold, ends.loss) == (20, (), None, 0.0)
    for number, (_, ask) in enumerate(steps, 1):
        assert ask.number == number
        assert ask.cases == ("other", "total")
        assert ask.threshold == pytest.approx(1.05 ** (1 / 3) - 1)
        assert ask.same_within == pytest.approx(1.05 ** (2 / 3) - 1)
        assert ask.loss == pytest.approx(math.log(1.05))


def test_commits_that_do_not_build_or_fail_leave_a_range(tmp_path):
    found = Fake(broken=(12,), failing=(11,)).run()
    assert (found.outcome, found.first, found.last) == ("range", 11, 13)
    assert set(found.state.skipped) == {COMMITS[11].sha, COMMITS[12].sha}
    text = str(report_for(found, tmp_path).sections)
    assert "One of 3 commits" in text
    assert "no header" in text


@pytest.mark.parametrize("on_error", [None, "skip", "bad"])
def test_commits_that_take_too_long_are_treated_as_those_that_fail(on_error):
    fake = Fake(failing=(11, 12))
    fake.failure = TimeLimitError("not measured in 5 s")
    found = fake.run(on_error=on_error)
    assert (found.first, found.last) == ((11, 11) if on_error == "bad" else (11, 13))
    assert any("not measured in 5 s" in line for line in fake.said)


@pytest.mark.parametrize("on_error", [None, "skip", "bad"])
def test_ends_that_take_too_long_are_not_measured(on_error):
    fake = Fake(failing=(20,))
    fake.failure = TimeLimitError("not measured in 5 s")
    with pytest.raises(TimeLimitError) as raised:
        fake.run(on_error=on_error)
    assert raised.value.exit_code == 3 and fake.state.steps == ()


def test_ends_that_do_not_differ_are_said(tmp_path):
    fake = Fake(loss=0)
    found = fake.run()
    assert (found.outcome, found.candidates, found.is_open) == ("same", (), False)
    assert [number for number, _ in fake.asked] == [20]
    (section, *_) = report_for(found, tmp_path).sections
    assert "does not differ from GOOD" in section.prose[0]


def test_ambiguous_ends_are_measured_longer():
    fake = Fake()
    fake.figures = lambda number: [figure(0.02, Verdict.AMBIGUOUS)]
    found = fake.run()
    assert (found.outcome, found.is_open) == ("same", True)
    assert [ask.longer for _, ask in fake.asked] == [False, True]
    assert "is not shown to differ" in str(report_for(found, Path()).sections)


@pytest.mark.parametrize(("place", "name"), [(0, "GOOD"), (20, "BAD")])
def test_ends_that_do_not_build_are_refused(place, name):
    with pytest.raises(UsageError, match=f"{name}, .* does not build: exit code 1"):
        Fake(broken=(place,)).run()


def test_a_machine_that_never_agrees_with_itself_ends_the_search():
    fake = Fake()
    fake.judge(Build(COMMITS[0].sha, ""), Build(COMMITS[20].sha, ""), None)
    bisecting = fake.bisecting()
    judge = bisecting._judge

    def broken_after_the_ends(good, other, ask):
        fake.invalid = ask.number
        return judge(good, other, ask)

    bisecting._judge = broken_after_the_ends
    with pytest.raises(UsageError, match="differed from itself; resume it then"):
        bisecting.run()


def test_a_full_disk_ends_the_search():
    fake = Fake()
    bisecting = fake.bisecting()
    steps = []

    def save(state):
        steps.append(state)
        if len(steps) > 2:
            raise OutputError("no space")

    bisecting._save = save
    with pytest.raises(OutputError):
        bisecting.run()


def test_a_resumed_search_goes_on_where_it_was():
    whole = Fake()
    found = whole.run()
    half = whole.saved[2]
    rest = Fake(state=half)
    assert rest.run().first == found.first
    assert [number for number, _ in rest.asked] == [number for number, _ in whole.asked[3:]]


def test_too_few_steps_leave_a_range():
    found = Fake().run(most_steps=3)
    assert found.outcome == "inconclusive"
    assert found.first <= 13 <= found.last
    assert found.first < found.last


def test_the_state_is_read_as_written(tmp_path):
    state = Fake().run().state
    write_state(tmp_path, state)
    assert read_state(tmp_path) == state
    for other in (VERSION + 1, VERSION - 1):
        write_state(tmp_path, msgspec.structs.replace(state, version=other))
        with pytest.raises(RunFileError, match="resume it with the opperf that began it"):
            read_state(tmp_path)
    # One of an older opperf is refused without being read.
    (tmp_path / "bisection.json").write_text('{"version": 1, "steps": 3}')
    with pytest.raises(RunFileError, match="resume it with the opperf that began it"):
        read_state(tmp_path)
    (tmp_path / "bisection.json").write_text("{")
    with pytest.raises(RunFileError, match="is not the state of a bisection"):
        read_state(tmp_path)
    with pytest.raises(RunFileError, match="has no bisection to resume"):
        read_state(tmp_path / "missing")


def test_every_format_has_the_answer(tmp_path):
    found = Fake(broken=(14,)).run()
    found = msgspec.structs.replace(
        found,
        before=12,
        confirmed=(
            figure(0.05, Verdict.REGRESSED),
            msgspec.structs.replace(figure(0.0, Verdict.SAME, error=0.0), metric="instructions"),
        ),
    )
    report = report_for(found, tmp_path)
    for name, format in formats_of(REPORT).items():
        text = format.write_report(report)
        assert COMMITS[13].short[:8] in text, name
        if format.has_sections and name != "json":
            assert "Time shows a change that instructions do not" in " ".join(text.split()), name


@pytest.mark.parametrize("on_error", [None, "bad"])
def test_the_commit_at_which_a_case_begins_to_fail_is_found(on_error, tmp_path):
    fake = Fake(loss=0, raising=range(9, 21), broken=(4,))
    found = fake.run(on_error=on_error)
    assert (found.outcome, found.candidates) == ("found", (COMMITS[9],))
    assert found.probability > 0.99 and found.end.fails and found.loss is None
    assert [ask.longer for _, ask in fake.asked].count(True) == 0
    report = report_for(found, tmp_path)
    for name, format in formats_of(REPORT).items():
        text = " ".join(format.write_report(report).split())
        assert COMMITS[9].short[:8] in text, name
        assert WHY in text, name
    assert f"and from there on it does not run: {WHY}" in str(report.sections)
    data = report.data
    assert (data["figure"]["metric"], data["figure"]["ratio"], data["ratio"]) == (
        "runs",
        None,
        None,
    )
    assert {(row["verdict"], row["reason"]) for row in data["steps"]} == {
        ("same", ""),
        ("missing", WHY),
    }


def test_what_bad_fails_at_comes_before_what_it_takes_longer_for():
    found = Fake(raising=(19, 20)).run()
    assert (found.end.operator, found.end.metric, found.first) == ("total", "runs", 19)
    assert [other.figure.operator for other in found.others] == ["other"]


def test_failures_that_are_to_be_skipped_are_said(tmp_path):
    found = Fake(loss=0, raising=range(9, 21)).run(on_error="skip")
    assert (found.outcome, found.is_open) == ("same", True)
    (section, *_) = report_for(found, tmp_path).sections
    assert "fails where GOOD" in section.prose[0]
    assert "ValueError: no; --on-error bad finds the commit" in section.prose[0]


@pytest.mark.parametrize(
    ("on_error", "first", "last"), [(None, 11, 13), ("skip", 11, 13), ("bad", 11, 11)]
)
def test_commits_that_fail_on_the_way_are_skipped_or_bad(on_error, first, last):
    found = Fake(raising=(11,), broken=(12,)).run(on_error=on_error)
    assert (found.first, found.last) == (first, last)
    assert not found.end.fails


def test_the_commit_that_broke_the_build_is_found(tmp_path):
    fake = Fake(broken=range(7, 21))
    with pytest.raises(UsageError, match="does not build.*; --on-error bad finds the commit"):
        fake.run()
    found = fake.run(on_error="bad")
    assert (found.outcome, found.first) == ("found", 7)
    assert not fake.asked, "builds alone tell"
    assert "a commit does not build: exit code 1; last output" in str(
        report_for(found, tmp_path).sections
    )
    again = Fake(broken=range(7, 21), state=found.state)
    assert again.run(on_error="bad").state == found.state


def test_failures_are_seen_on_a_machine_that_differs_from_itself():
    fake = Fake(loss=0, raising=range(9, 21))
    judge = fake.judge
    fake.judge = lambda *asked: msgspec.structs.replace(judge(*asked), reason="A differed")
    bisecting = fake.bisecting()
    assert bisecting.run().first == 9
