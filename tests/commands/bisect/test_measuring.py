"""What a step of a bisection takes from its session."""

import pytest

from opperf.commands.bisect import bisect
from opperf.commands.bisect.measuring import Sessions, _without_passes
from opperf.comparison.ab.rehearsal import lacking_pass
from opperf.history.bisection.bisecting import Ask
from opperf.history.builds import Build
from opperf.model import DIFFERENT, Check, Difference
from tests.comparison.ab.sessions import case, session_of


def test_a_pass_that_the_commit_alone_lacks_is_a_failure():
    found = {
        "lost": lacking_pass("backward", "B", "no gradient"),
        "gained": lacking_pass("backward", "A", "no gradient"),
        "other": Difference("output", "1 in A, 2 in B"),
    }
    cases = {name: case(name) for name in (*found, "same")}
    checks = {cases[name].id: Check(DIFFERENT, "", (one,), 1) for name, one in found.items()}
    (failure,) = _without_passes(session_of(*cases.values(), checks=checks))
    assert failure.operator == "lost"
    assert failure.reason == "backward: A has it, B has not (no gradient)"


@pytest.mark.parametrize("kind", ["times", "counts"])
def test_a_step_has_a_value_of_each_option_of_ab(tmp_path, kind):
    given = bisect.make_context("bisect", ["a", "b", "--ops", "exp", "--framework", "numpy"]).params
    builds = [Build(commit, commit, {"BUILD": commit}) for commit in "ab"]
    # An option that `ab` reads and a step lacks is a KeyError.
    request = Sessions(given, {}, tmp_path, kind)._request(*builds, Ask(1), "1.jsonl", kind)
    assert request.report == tmp_path / "1.jsonl" and request.seed == given["seed"] + 1
