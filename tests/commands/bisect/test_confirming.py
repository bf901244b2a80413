"""The answer is measured against the commit before it, by time and by instructions."""

from types import SimpleNamespace

import msgspec
import pytest

from opperf.errors import OutputError, UsageError
from opperf.history.bisection.results import VERSION, Bisection, Figure, State, Step
from opperf.history.builds import Recipe
from opperf.repository import Commit
from opperf.requests.bisecting import running
from opperf.statistics.data import Verdict

COMMITS = tuple(Commit(f"{number}" * 40) for number in range(4))
END = Figure(
    *("c", "total", "x", "forward", Verdict.REGRESSED),
    ratio=1.1,
    low=1.08,
    high=1.13,
    error=0.01,
    freedom=6,
    pattern="built:total",
)
FOUND = Bisection("found", State(VERSION, "/r", COMMITS, Recipe()), (END,), END, first=3, last=3)


class Judge:
    def __init__(self, fails=()):
        self.fails, self.asked = fails, []

    def compare(self, a, b, ask, name, kind):
        self.asked.append((a, b, ask.operators, kind))
        if kind in self.fails:
            raise self.fails[kind]
        other = msgspec.structs.replace(END, inputs="y", id="d")
        return Step(0, (other, END), file=name)

    def functions(self, step, figure):
        return SimpleNamespace(data={"functions": [], "of": figure})


class Fake:
    """A bisection whose commit 2 was skipped."""

    state = FOUND.state

    def before(self, first):
        return first - 2

    def built(self, place):
        return place

    def update(self, confirmed):
        self.state = msgspec.structs.replace(self.state, confirmed=confirmed)


@pytest.fixture(autouse=True)
def valgrind(monkeypatch):
    monkeypatch.setattr(running, "installed", lambda: None)


def confirm(judge, bisecting):
    return running._confirmed(FOUND, bisecting, judge, lambda line: None)


def test_both_kinds_measure_the_case_that_decided():
    judge, bisecting = Judge(), Fake()
    found = confirm(judge, bisecting)
    assert judge.asked == [(1, 3, ("built:total",), kind) for kind in ("times", "counts")]
    assert (found.before, found.confirmed) == (1, (END, END))
    assert found.functions == {"functions": [], "of": END}
    assert found.state.confirmed == bisecting.state.confirmed
    confirm(judge, bisecting)
    assert len(judge.asked) == 2, "what is in the state is not measured again"


def test_long_calls_are_not_counted_unless_the_search_counts():
    judge = Judge()
    bisecting = Fake()
    step = Step(3, (), call_s=20.0)
    bisecting.state = msgspec.structs.replace(FOUND.state, steps=(step,))
    found = confirm(judge, bisecting)
    assert [kind for *_, kind in judge.asked] == ["times"] and found.confirmed == (END,)
    (note,) = found.notes
    assert note.startswith("not measured by instructions: a call takes 20 s")
    bisecting.state = msgspec.structs.replace(FOUND.state, steps=(step,), kind="counts")
    assert confirm(judge, bisecting).notes == ()


def test_what_cannot_be_measured_is_said():
    found = confirm(Judge({"counts": UsageError("no Valgrind")}), Fake())
    assert found.confirmed == (END,)
    assert found.notes == ("not measured by instructions: no Valgrind",)


def test_a_full_disk_ends_the_command():
    with pytest.raises(OutputError):
        confirm(Judge({"times": OutputError("no space")}), Fake())
