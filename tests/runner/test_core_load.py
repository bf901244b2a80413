"""How busy cores are, on machines made of files."""

import pytest

from opperf.runner import core_load
from opperf.runner.core_load import watch_cores

# Of user, nice, system, idle, waiting for a disk, interrupts (two fields), stolen; then parts.
BEFORE = (
    "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 10 0 5 100 7 0 0 3 4 0\ncpu3 0 0 0 50 0 0 0 0 0 0\nintr 5\n"
)
AFTER = (
    "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 12 0 5 104 8 0 0 6 9 0\ncpu3 10 0 0 50 0 0 0 0 9 0\nintr 9\n"
)


def test_stolen_time_is_busy_and_that_of_disks_is_not(tmp_path, monkeypatch):
    stat = tmp_path / "stat"
    stat.write_text(BEFORE)
    slept = []
    monkeypatch.setattr(
        core_load.time, "sleep", lambda s: (slept.append(s), stat.write_text(AFTER))
    )
    assert watch_cores(0.1, tmp_path) == {0: pytest.approx(0.5), 3: 1.0} and slept == [0.1]


def test_a_system_that_does_not_count_is_not_waited_for(tmp_path, monkeypatch):
    slept = []
    monkeypatch.setattr(core_load.time, "sleep", slept.append)
    assert watch_cores(0.1, tmp_path) == {} and slept == [0.0]
