"""What a process prints, as observations."""

import math
import re

import pytest

from opperf.model import ScriptTarget, Settings
from opperf.programs.launching import ProcessPlan
from opperf.programs.process import ProgramProcess


@pytest.fixture
def process():
    """Returns a process that was not started, of lines with this pattern."""

    def made(pattern):
        target = ScriptTarget("bench", "main.py")
        return ProgramProcess(
            ProcessPlan("0", 0, {}), target, Settings(), [re.compile(pattern)], None
        )

    return made


def test_lines_that_are_read_together_are_one_observation(process):
    one = process(r"step (?P<step>\d+)")
    for step, at in [(0, 10.0), (1, 10.5), (2, 10.5), (3, 10.5), (4, 11.5), (4, 12.0)]:
        one.take("stdout", b"step %d\n" % step, at)
    # One step in half a second; then three in a second; then none.
    assert one.observations.rates == [2.0, 3.0]
    assert one.observations.unit == "steps/s"


def test_lines_without_a_number_are_steps_themselves(process):
    one = process("done")
    for at in (1.0, 1.5, 2.5):
        one.take("stderr", b"done\n", at)
        one.take("stderr", b"something else\n", at)
    assert one.observations.rates == [2.0, 1.0]


def test_numbers_are_read_as_they_are_printed(process):
    one = process(r"(?P<rate>\S+) img/s loss (?P<loss>\S+)")
    for text in (b"1,082.47 img/s loss 6.8e-1,\n", b"fast img/s loss nan\n"):
        one.take("stdout", text, 1.0)
    assert one.observations.rates == [1082.47]
    first, second = one.observations.losses
    assert first == 0.68 and math.isnan(second)
