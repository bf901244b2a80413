"""The file of a session that a node measures: as it was until something comes."""

import pytest

from opperf.comparison.ab.session_file import SessionWriter, read_session
from opperf.errors import OutputError, RunFileError, UsageError
from opperf.model import Closing
from opperf.requests.ab.node import SessionCopy
from tests.comparison.ab.sessions import case, session_of


def write(path, closes=False):
    with SessionWriter.create(path, session_of(case("relu")), overwrite=False) as writer:
        if closes:
            writer.close_session(Closing("then", 1.0, {}))
    return path.read_bytes()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ab.jsonl"


def test_a_new_file_is_made_once_something_comes(path):
    with SessionCopy(path, resumes=False, overwrite=False, is_default=False, say=print) as copy:
        copy.append(b"")
        assert not path.exists() and not copy.has_new
        copy.append(b"one\n")
        copy.append(b"two\n")
        assert copy.size == 8 and copy.has_new
        with pytest.raises(RunFileError, match="being written by another opperf"):
            SessionCopy(path, resumes=True, overwrite=False, is_default=False, say=print)
    assert path.read_bytes() == b"one\ntwo\n"


def test_an_earlier_file_stays_until_something_comes(path):
    before = write(path)
    with pytest.raises(OutputError, match="exists"):
        SessionCopy(path, resumes=False, overwrite=False, is_default=False, say=print)
    for options in ({"overwrite": True, "is_default": False}, {"overwrite": False}):
        with SessionCopy(path, False, say=print, **{"is_default": True, **options}) as copy:
            assert path.read_bytes() == before
            copy.append(before)
        assert path.read_bytes() == before


@pytest.mark.parametrize("end", [b"", b'{"line":"proc'])
def test_what_is_resumed_keeps_its_closing_line_until_something_comes(path, end):
    closed = write(path, closes=True)
    open_lines = b"".join(closed.splitlines(keepends=True)[:-1])
    path.write_bytes(open_lines + end if end else closed)
    before = path.read_bytes()
    with SessionCopy(path, resumes=True, overwrite=False, is_default=False, say=print) as copy:
        assert copy.content == open_lines and path.read_bytes() == before
        copy.append(closed[len(open_lines) :])
    assert path.read_bytes() == closed and read_session(path)[0].closing is not None


def test_there_has_to_be_a_session_to_resume(path):
    with pytest.raises(UsageError, match="no session to resume"):
        SessionCopy(path, resumes=True, overwrite=False, is_default=False, say=print)
