"""`opperf run --verify`: what it is written with, and what has no reference."""

import pytest

from opperf.commands.options import mark_alone
from opperf.errors import UsageError
from opperf.execution.profiling import check_programs
from opperf.model import Case, FileTarget, Settings
from opperf.requests.declaring import declared
from opperf.requests.run import RunRequest


@pytest.mark.parametrize(
    "words, marked",
    [
        (["--verify", "relu"], ["--verify=true", "relu"]),
        (["relu", "--verify"], ["relu", "--verify"]),
        (["--verify", "reference", "relu"], ["--verify", "reference", "relu"]),
        (["--verify", "--", "reference"], ["--verify", "--", "reference"]),
    ],
)
def test_a_word_behind_the_option_is_its_value_only_if_it_can_be(words, marked):
    assert mark_alone(words, {"--verify": declared(RunRequest)["verify"]}) == marked


def test_a_function_of_a_file_has_no_reference():
    target = FileTarget("numpy", "my.py", "f")
    cases = [Case(target, {}, Settings(verify=setting)) for setting in (True, "reference")]
    check_programs(cases[:1], None, True)
    with pytest.raises(UsageError, match="--verify reference compares with"):
        check_programs(cases, None, True)
