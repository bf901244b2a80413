"""Dumps written by hand, and run files with dumps beside them."""

import pytest

from opperf.comparison.explaining.callgrind import read_dump
from opperf.model import (
    SCHEMA_VERSION,
    Case,
    Header,
    OperatorTarget,
    Record,
    Run,
    Settings,
    Status,
    TensorSpec,
)
from opperf.reports.writing import write
from tests.environments import make_environment

ENVIRONMENT = make_environment("numpy")

TEMPLATE = """# callgrind format
version: 1
creator: {creator}
cmd: python
part: 1

desc: Trigger: Client Request: {trigger}

positions: line
events: {events}

{body}
"""


@pytest.fixture
def text_of():
    """Returns the text of a dump with this body."""

    def text(body, events="Ir", trigger="opperf calls=1", creator="by hand"):
        return TEMPLATE.format(body=body, events=events, trigger=trigger, creator=creator)

    return text


@pytest.fixture
def dump_of(tmp_path, text_of):
    """Reads a dump with this body."""

    def read(body, name="dump", **header):
        path = tmp_path / name
        path.write_text(text_of(body, **header))
        return read_dump(path)

    return read


def body_of(functions, calls=()):
    """Returns the body of a dump: the own counts of functions by name and object, and the counts of
    calls by caller and callee, names and objects as well."""
    lines = []
    for (name, where), own in functions.items():
        lines += [f"ob={where}", "fl=a.c", f"fn={name}", f"1 {own}"]
        for caller, callee, count in calls:
            if caller == (name, where):
                lines += [f"cob={callee[1]}", f"cfn={callee[0]}", "calls=1 1", f"1 {count}"]
    return "\n".join(lines)


@pytest.fixture
def make_body():
    return body_of


def record_of(name="add", length=4, status=Status.OK, reason="", **settings):
    case = Case(
        target=OperatorTarget("numpy", name),
        arguments={"x": TensorSpec((length,))},
        settings=Settings(**settings),
    )
    return Record(case=case, id=case.id, status=status, reason=reason, environment=ENVIRONMENT.id)


@pytest.fixture
def make_record():
    return record_of


@pytest.fixture
def run_file(tmp_path, text_of):
    """Writes a run file with the dumps of its records, by pass."""

    def written(name, records, dumps=None):
        header = Header(schema=SCHEMA_VERSION, started="2025-01-02T03:04:05+00:00", options={})
        cases = tuple(record.case for record in records)
        run = Run(header, tuple(records), environments={ENVIRONMENT.id: ENVIRONMENT}, cases=cases)
        path = tmp_path / name
        write(run, path, "jsonl")
        folder = path.with_suffix(".callgrind")
        folder.mkdir()
        for record in records if dumps else ():
            for measured_pass, body in dumps.items():
                dump = folder / f"{record.id}.{measured_pass}.callgrind"
                dump.write_text(text_of(body, trigger="opperf calls=10 overhead=50"))
        return path

    return written
