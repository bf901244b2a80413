"""What a step of a bisection takes from its session."""

import math

import pytest

from opperf.commands.bisect import bisect
from opperf.comparison.ab.rehearsal import lacking_pass
from opperf.comparison.ab.slow_calls import ArmCalls, SlowPair
from opperf.execution.progress import Progress
from opperf.history.bisection.bisecting import Ask
from opperf.history.builds import Build
from opperf.model import DIFFERENT, Check, Difference
from opperf.requests.ab.resolving import Work
from opperf.requests.bisecting.running import watch_of
from opperf.requests.bisecting.steps import Sessions, _timed, _without_passes
from opperf.statistics.data import Verdict
from tests.comparison.ab.sessions import case, session_of


def test_a_pass_that_the_commit_alone_lacks_is_a_failure():
    found = {
        "lost": lacking_pass("backward", "B", "A", "no gradient"),
        "gained": lacking_pass("backward", "A", "B", "no gradient"),
        "other": Difference("output", "1 in A, 2 in B"),
    }
    cases = {name: case(name) for name in (*found, "same")}
    checks = {cases[name].id: Check(DIFFERENT, "", (one,), 1) for name, one in found.items()}
    (failure,) = _without_passes(session_of(*cases.values(), checks=checks))
    assert failure.operator == "lost"
    assert failure.reason == "backward: A has it, B has not (no gradient)"


def step(folder, kind, ask, *words):
    """The session of a step of `opperf bisect` with these words."""
    line = ["a", "b", "--ops", "exp", "--framework", "numpy", "--folder", str(folder), *words]
    asked = bisect.request_of(bisect.make_context("bisect", line))
    builds = [Build(commit, commit, {"BUILD": commit}) for commit in "ab"]
    return Sessions(asked, kind, watch_of)._request(*builds, ask, "1.jsonl", kind)


@pytest.mark.parametrize("kind", ["times", "counts"])
def test_a_step_has_the_options_of_its_kind(tmp_path, kind):
    request = step(tmp_path, kind, Ask(1), "--seed", "3", "--threads", "2", "--blocks", "4")
    assert request.report == tmp_path / "1.jsonl" and request.seed == 3 + 1
    assert request.deadline.left_s == math.inf and request.loss == 0.0
    of_times = {"threads", "blocks"} if kind == "times" else {"profiler"}
    assert request.given == {"framework", "seed", "report"} | of_times
    assert request.selection.settings.profiler == ("" if kind == "times" else "instructions")


def test_a_limit_is_that_of_a_call_and_of_the_step(tmp_path):
    request = step(tmp_path, "times", Ask(1, loss=5.0), "--timeout", "900", "--quiet")
    assert request.selection.settings.timeout_s == 900 and 0 < request.deadline.left_s <= 900
    assert request.loss == 5.0 and type(request.watch(9, None, Work("x"))) is Progress


def test_what_single_calls_decided_is_a_figure_without_blocks():
    one = case("x", passes=("forward",))
    arms = {"A": ArmCalls({"forward": 0.1}), "B": ArmCalls({"forward": 20.0}, least_s=1.0)}
    step = _timed(session_of(one, slow={one.id: SlowPair(arms, ("forward",))}))
    (figure,) = step.figures
    assert (figure.operator, figure.metric, figure.blocks) == ("x", "forward", 0)
    assert figure.verdict is Verdict.REGRESSED and figure.ratio == pytest.approx(200)
    assert figure.low == pytest.approx(10)
    assert figure.estimate(1.0).variance == pytest.approx(figure.error**2)
