"""Claims on cores, among processes of a folder of the test's own, and how busy cores are."""

import os
import subprocess
import sys

import pytest

from opperf.machine import core_use
from opperf.machine.core_use import CHOOSING, Claims, Held, read_gauge, watch_cores

needs_locks = pytest.mark.skipif(sys.platform == "win32", reason="without fcntl")

HOLD = """
import sys
from pathlib import Path
from opperf.machine.core_use import Claims
claims = Claims(Path(sys.argv[1]))
with claims.choosing():
    claims.add({1, 2})
print("claimed", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path):
    """A process that holds cores 1 and 2."""
    held = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert held.stdout.readline() == "claimed\n"
    yield held
    held.kill()
    held.communicate()


@needs_locks
def test_the_claim_of_a_process_lasts_until_its_end_however_it_ends(holder, tmp_path):
    claims = Claims(tmp_path)
    assert claims.others() == [Held(holder.pid, frozenset({1, 2}))]
    holder.kill()
    holder.wait()
    # The file is there still, and counts for nothing.
    assert [path.suffix for path in tmp_path.iterdir() if path.name != CHOOSING] == [".claim"]
    assert claims.others() == []
    assert [path.name for path in tmp_path.iterdir()] == [CHOOSING]


@needs_locks
def test_own_cores_are_no_others_and_are_given_back(tmp_path):
    mine, seen = Claims(tmp_path), Claims(tmp_path)
    mine.add({0})
    mine.add({3})
    assert mine.others() == [] and seen.others() == [Held(os.getpid(), frozenset({0, 3}))]
    mine.release()
    assert seen.others() == []
    mine.add({2})
    assert seen.others() == [Held(os.getpid(), frozenset({2}))]
    mine.release()


@needs_locks
def test_one_process_chooses_at_a_time_but_none_waits_for_a_stopped_one(tmp_path, monkeypatch):
    monkeypatch.setattr("opperf.machine.core_use.LONGEST_WAIT_S", 0.03)
    with Claims(tmp_path).choosing(), Claims(tmp_path).choosing():
        assert (tmp_path / CHOOSING).exists()


@needs_locks
@pytest.mark.parametrize("kind", ["file", "link", "missing"])
def test_a_folder_that_cannot_be_used_stops_nothing(tmp_path, kind):
    folder = tmp_path / "cores"
    if kind == "file":
        folder.write_text("")
    elif kind == "link":
        # Another user could have made it, to have files deleted elsewhere.
        (tmp_path / "elsewhere").mkdir()
        folder.symlink_to(tmp_path / "elsewhere")
    else:
        folder = folder / "below"
    claims = Claims(folder)
    with claims.choosing():
        claims.add({0})
        assert claims.others() == []
    claims.release()
    assert not any((tmp_path / "elsewhere").glob("*"))


@needs_locks
def test_what_is_no_claim_is_left_alone(tmp_path):
    (tmp_path / "notes.txt").write_text("")
    (tmp_path / "x-1.claim").mkdir()
    assert Claims(tmp_path).others() == []
    assert len(list(tmp_path.iterdir())) == 2


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
    monkeypatch.setattr(core_use.time, "sleep", lambda s: (slept.append(s), stat.write_text(AFTER)))
    assert watch_cores(0.1, tmp_path) == {0: pytest.approx(0.5), 3: 1.0} and slept == [0.1]


def test_a_system_that_does_not_count_is_not_waited_for(tmp_path, monkeypatch):
    slept = []
    monkeypatch.setattr(core_use.time, "sleep", slept.append)
    assert watch_cores(0.1, tmp_path) == {} and slept == [0.0]


def test_the_gauge_is_a_time():
    assert read_gauge() > 0
