"""What a step of a bisection takes from its session."""

from opperf.commands.bisect.measuring import _without_passes
from opperf.comparison.ab.rehearsal import lacking_pass
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
