"""The executor of experiments: a process for each case, and what a reason has of its end."""

import pytest

from opperf.execution.execute import NoFile, Rounds, execute
from opperf.execution.executor import ISOLATED, Task, open_executor
from opperf.execution.progress import Progress
from opperf.execution.workers import Workers
from opperf.machine.pinning import NONE, Pinning
from opperf.model import Status


@pytest.fixture
def records(make_case, variables, monkeypatch):
    """Measures cases of these operators, and returns their records and environments in order."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    def measured(*names, echo=None, **settings):
        cases = [
            make_case(name, shape=(4, number + 1), **settings) for number, name in enumerate(names)
        ]
        schedule = Rounds(cases)
        task, pinning = Task(tuple(cases), echo=echo), Pinning(NONE)
        with Workers() as workers, open_executor(ISOLATED, task, workers, pinning) as executor:
            execute(schedule, executor, NoFile(), Progress())
        return [schedule.records[case.id] for case in cases]

    return measured


def test_each_case_has_a_process_of_its_own_and_a_crash_costs_itself(records):
    first, crashed, last = records("relu", "segfaults", "relu")
    assert first.status is last.status is Status.OK
    assert crashed.status is Status.CRASHED
    assert "ended by SIGSEGV" in crashed.reason
    assert crashed.reason.endswith("last output: about to die")


def test_what_a_process_writes_is_passed_on_where_it_is_asked_for(records):
    said = []
    (record,) = records("prints", echo=said.append)
    assert record.status is Status.OK and any("printed by Python" in text for text in said)


def test_a_timeout_has_the_last_lines_that_the_process_wrote(records):
    (record,) = records("hangs", timeout_s=0.5)
    assert record.status is Status.TIMEOUT and "not finished after 0.5 s" in record.reason
