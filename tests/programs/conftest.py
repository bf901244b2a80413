"""Measuring of programs by their text."""

import time
from types import SimpleNamespace

import pytest

from opperf.formats.milabench.streams import read_stream
from opperf.model import Case, ScriptTarget, Settings
from opperf.programs import group
from opperf.programs.measuring import Programs

QUICK = Settings(timeout_s=60)


@pytest.fixture
def run(tmp_path):
    """Measures a script, and returns the record and the events of each process."""

    def measured(source, *observe, settings=QUICK, place=None, **target):
        script = tmp_path / "main.py"
        script.write_text(source)
        target = {"stop": 10, "observe": observe, **target}
        case = Case(ScriptTarget("bench", str(script), **target), {}, settings, passes=())
        streams = tmp_path / "streams"
        record = Programs().measure(case, streams, **({"place": place} if place else {}))
        events = [read_stream(streams / each.stream).events for each in record.processes]
        return record, events

    return measured


@pytest.fixture
def expire(monkeypatch):
    """Lets all time limits of programs pass once a condition holds."""

    def expired(condition):
        passed = []

        def monotonic():
            if not passed and condition():
                passed.append(3600)
            return time.monotonic() + sum(passed)

        monkeypatch.setattr(group, "time", SimpleNamespace(monotonic=monotonic))

    return expired
