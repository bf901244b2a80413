"""Standard streams that are closed, full or of few characters."""

import subprocess
import sys

from opperf.errors import UsageError
from opperf.opperf import _as_opperf_error
from opperf.results.messages import ERRORS, prepare_streams


def test_closed_streams_and_readers_that_are_gone_have_codes_of_their_own(tmp_path):
    opperf = f"{sys.executable} -m opperf"
    script = f"""
        {opperf} report none 2>&-; echo $?
        {opperf} list --framework numpy --help >&-; echo $?
        ({opperf} help run; echo $? >&2) | :
    """
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout.split() == ["2", "2"]
    closed, gone = done.stderr.splitlines()
    assert closed == "opperf: standard output cannot be written: Bad file descriptor"
    assert gone == "141"


def test_what_an_encoding_does_not_have_is_written_plainly():
    prepare_streams()
    assert "5 ±3 % ×2 é \U0001f600 \udc80".encode("ascii", ERRORS) == (
        b"5 +-3 % x2 \\u00e9 \\ud83d\\ude00 \\udc80"
    )


def test_a_working_directory_that_was_deleted_is_said(tmp_path, monkeypatch):
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    found = _as_opperf_error(FileNotFoundError(2, "No such file or directory"))
    monkeypatch.chdir(tmp_path)
    assert isinstance(found, UsageError) and "working directory was deleted" in str(found)
    assert not isinstance(_as_opperf_error(FileNotFoundError(2, "other")), UsageError)
