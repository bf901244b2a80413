"""Environments of an earlier run, or of another machine's, are installed again."""

import msgspec
import pytest

from opperf.comparison.ab.arms import ArmSpec
from opperf.comparison.ab.session_file import new_session
from opperf.environments.building import restore
from opperf.errors import InstallationError
from opperf.model import Case, Interpreter, OperatorTarget, TensorSpec
from opperf.requests.ab.sessions import restore_environments
from opperf.sources.selecting import Selection
from tests.environments import make_environment

GONE = Interpreter("/gone/python", "a", requirements="scales", packages=("scales==1.0",))


def test_what_is_gone_is_installed_with_the_same_versions(offline):
    said = []
    own = Interpreter("/no/python", "b")
    first, second = restore([GONE, own], said.append)
    assert second == own
    # The newest would be 2.0.
    assert first == msgspec.structs.replace(GONE, path=first.path)
    assert "environments/scales" in first.path
    assert restore([first], pytest.fail) == (first,)


def test_what_cannot_be_asked_for_again_says_how_to():
    suite = msgspec.structs.replace(GONE, requirements="-e .")
    with pytest.raises(InstallationError, match="opperf suite install"):
        restore([suite], print)


def test_the_arms_of_a_session_have_theirs_again(offline):
    arms = {
        "A": ArmSpec(variables={"X": "1"}),
        "B": ArmSpec(requirements=("scales",), packages=GONE.packages, python=GONE.path),
    }
    case = Case(OperatorTarget("numpy", "exp"), {"x": TensorSpec((2,))})
    session = new_session(
        {case.id: (case, case)},
        arms,
        dict.fromkeys(arms, make_environment("numpy")),
        Selection(),
        "opperf ab",
        {},
        kind="times",
        framework="numpy",
    )
    assert session.header.interpreters == (msgspec.structs.replace(GONE, label="B"),)
    restore_environments(session, lambda text: None)
    path = session.header.interpreters[0].path
    assert session.plan.by_name["B"].python == path != GONE.path
    assert session.plan.by_name["A"] == msgspec.structs.replace(arms["A"], name="A")
    # What is compared with the options of the command is as it was.
    assert str(session.plan.by_name["B"]) == str(arms["B"]) == "env:scales"
