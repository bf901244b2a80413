"""The dumps that Callgrind writes, and their totals."""

import os

import pytest

from opperf.errors import ProfilerError
from opperf.instruments.callgrind.counter import DUMPS, Dumps, keep_dump, totals


@pytest.fixture
def dumps(monkeypatch, tmp_path):
    monkeypatch.setenv(DUMPS, str(tmp_path / "dump"))
    return Dumps()


def written(path, text):
    path.write_text(text)
    return path


def test_the_totals_are_those_of_the_summary(tmp_path):
    head, body = "version: 1\nevents: Ir Dr Dw\n", "\n\nfn=(1) f\n1 5 2 1\n\ntotals: 5 2 1\n"
    assert totals(written(tmp_path / "a", f"{head}summary: 3005 2 1{body}")) == {
        "Ir": 3005,
        "Dr": 2,
        "Dw": 1,
    }
    # Zeros at the end are left out.
    assert totals(written(tmp_path / "b", f"{head}summary: 7{body}")) == {"Ir": 7, "Dr": 0, "Dw": 0}


def test_a_dump_that_was_cut_short_is_an_error(tmp_path):
    with pytest.raises(ProfilerError, match="cut has no summary"):
        totals(written(tmp_path / "cut", "events: Ir\nfn=(1) f\n1 5\n"))


def test_dumps_are_numbered_and_kept_elsewhere(dumps, tmp_path):
    first = written(tmp_path / f"dump.{os.getpid()}.1", "1")
    assert dumps.next() == first
    with pytest.raises(ProfilerError, match=r"callgrind wrote no dump\.\d+\.2"):
        dumps.next()
    keep_dump(first, tmp_path / "kept" / "a.callgrind")
    assert not first.exists() and (tmp_path / "kept" / "a.callgrind").read_text() == "1"


def test_the_dump_of_an_ended_process_is_removed(dumps, tmp_path, monkeypatch):
    last = written(tmp_path / "dump.77", "")
    Dumps.remove_last(77)
    assert not last.exists()
    Dumps.remove_last(77)
    monkeypatch.delenv(DUMPS)
    Dumps.remove_last(77)
