"""A session that counts instructions: what it refuses, and its verdicts' exit codes."""

import pytest
from click.testing import CliRunner

from opperf.commands.ab import ab
from opperf.comparison.ab.arms import ArmSpec
from opperf.comparison.ab.session_file import group_cases
from opperf.errors import RunFileError, UsageError
from opperf.instruments.callgrind.valgrind import installed
from opperf.model import Case, OperatorTarget
from opperf.requests.ab.resolving import FIELDS, OF_TIMES

ARMS = ("--a", "env:X=1", "--b", "env:X=2")
RELU = Case(OperatorTarget("fake", "relu"), {})


@pytest.fixture
def refused(tmp_path):
    """Why a command is refused, which has written nothing then."""

    def why(*options, error=UsageError, operator=("add",)):
        report = tmp_path / "s.jsonl"
        words = [*operator, "--framework", "numpy", *options, "--report", str(report)]
        done = CliRunner().invoke(ab, words)
        assert isinstance(done.exception, error) and list(tmp_path.iterdir()) == []
        return str(done.exception)

    return why


@pytest.mark.parametrize(
    "options",
    [
        ("--a", "profiler:instructions", "--b", "profiler:python"),
        ("--profiler", "instructions", "--a", "profiler:python", "--b", "env:X=1"),
        ("--a", "env:X=1", "--b", "profiler:instructions"),
    ],
)
def test_both_arms_count_or_none(options, refused):
    assert refused(*options).startswith("one arm counts instructions and the other measures times")


VALUES = {"order": "block", "until_settled": "20", "no_pace": None, "same_within": "10%"}


@pytest.mark.parametrize("name", OF_TIMES)
def test_options_of_times_are_refused(name, refused):
    option = FIELDS[name].shown
    value = VALUES.get(name, "4")
    words = (option,) if value is None else (option, value)
    why = refused("--profiler", "instructions", *ARMS, *words)
    assert why == f"{option} is for times: a count does not scatter, and is made once; omit it"


def test_there_is_no_coarse_look(refused):
    why = refused("--profiler", "instructions", *ARMS, "--threads", "1,all")
    assert why == "--threads 1,all: counts have no coarse look; give one number"


def test_without_valgrind_nothing_begins(refused, monkeypatch, tmp_path_factory):
    monkeypatch.setenv("PATH", str(tmp_path_factory.mktemp("empty")))
    installed.cache_clear()  # another test of this process may have found it
    assert "Valgrind" in refused("--profiler", "instructions", *ARMS)


def test_there_is_something_to_resume(refused, monkeypatch):
    monkeypatch.setattr("opperf.requests.ab.sessions.check_instruments", lambda settings: None)
    why = refused("--profiler", "instructions", "--resume", error=RunFileError)
    assert why.endswith("s.jsonl: there is no session to resume; run without --resume")


def test_a_case_of_two_pairs_is_counted_for_each(tmp_path):
    arms = ("--a", "ops:sin,sin,sin", "--b", "ops:cos,tan,cos", "--max-configs", "1")
    report = tmp_path / "s.jsonl"
    words = ["--framework", "numpy", "--profiler", "instructions", *arms, "--report", str(report)]
    done = CliRunner().invoke(ab, [*words, "--dry-run"])
    assert "2 cases, 1 case given twice and compared once, counted once in each arm" in done.output
    sin, cos, tan = (Case(OperatorTarget("numpy", name), {}) for name in ("sin", "cos", "tan"))
    groups = [(sin, cos), (sin, tan)]
    first, second = group_cases(groups, {"A": ArmSpec(), "B": ArmSpec()})
    assert [case.id for _, case in (first, second)] == [cos.id, tan.id]
    # A run file has one record of a case.
    assert first[0].id == sin.id != second[0].id


def test_a_case_of_an_arms_own_interpreter_names_it():
    ((a, b),) = group_cases([(RELU, RELU)], {"A": ArmSpec(), "B": ArmSpec(python="/p")})
    assert (a.settings.python, b.settings.python) == ("", "B") and a.id == RELU.id != b.id
