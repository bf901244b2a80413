"""Claims on cores, among processes of a folder of the test's own."""

import os
import subprocess
import sys

import pytest

from opperf.runner.core_claims import CHOOSING, Claims, Held

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="without fcntl")

HOLD = """
import sys
from pathlib import Path
from opperf.runner.core_claims import Claims
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


def test_the_claim_of_a_process_lasts_until_its_end_however_it_ends(holder, tmp_path):
    claims = Claims(tmp_path)
    assert claims.others() == [Held(holder.pid, frozenset({1, 2}))]
    holder.kill()
    holder.wait()
    # The file is there still, and counts for nothing.
    assert [path.suffix for path in tmp_path.iterdir() if path.name != CHOOSING] == [".claim"]
    assert claims.others() == []
    assert [path.name for path in tmp_path.iterdir()] == [CHOOSING]


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


def test_one_process_chooses_at_a_time_but_none_waits_for_a_stopped_one(tmp_path, monkeypatch):
    monkeypatch.setattr("opperf.runner.core_claims.LONGEST_WAIT_S", 0.03)
    with Claims(tmp_path).choosing(), Claims(tmp_path).choosing():
        assert (tmp_path / CHOOSING).exists()


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


def test_what_is_no_claim_is_left_alone(tmp_path):
    (tmp_path / "notes.txt").write_text("")
    (tmp_path / "x-1.claim").mkdir()
    assert Claims(tmp_path).others() == []
    assert len(list(tmp_path.iterdir())) == 2
