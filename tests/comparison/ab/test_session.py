"""The file of a session: what is in it, and what it is repaired to."""

import msgspec
import pytest

from opperf.comparison.ab.arms import ArmSpec
from opperf.comparison.ab.pairs import Pair
from opperf.comparison.ab.session import (
    SCHEMA,
    Lost,
    ReplicateLine,
    Session,
    SessionClosing,
    SessionHeader,
    SessionWriter,
    read_session,
)
from opperf.comparison.statistics.data import Replicate, Thresholds
from opperf.errors import OutputError, RunFileError
from opperf.model import Case, Environment, Fill, OperatorTarget, Settings, TensorSpec
from opperf.sources.selecting import Selection


def case(name):
    tensor = TensorSpec((2, 3), fill=Fill("uniform", 0.5, 2.0))
    return Case(OperatorTarget("fake", name), {"data": tensor}, Settings(threads=2))


@pytest.fixture
def header():
    environment = Environment(
        opperf="0",
        framework="fake",
        versions={"fake": "1"},
        features={},
        python="3",
        platform="here",
        hostname="it",
        cpu="some",
        cores=2,
        threads={},
        memory_bytes=1,
        load_1min=0.5,
        governor="unknown",
        devices=("cpu(0)",),
    )
    pair = Pair(case("relu"), case("relu"))
    return SessionHeader(
        schema=SCHEMA,
        started="2026-01-01T00:00:00+00:00",
        command="opperf ab relu",
        framework="fake",
        a=ArmSpec(),
        b=ArmSpec(variables={"X": "1"}, settings={"threads": 2}),
        environments={"A": environment, "B": environment},
        thresholds=Thresholds(threshold=0.05),
        seed=3,
        selection=Selection(patterns=("relu",)),
        pairs=(pair,),
        alone={"dot in A": "B has none"},
        excluded={},
        visit_s={pair.id: 0.25},
        start_s=0.5,
        later_start_s=0.1,
    )


def line(position, **lost):
    values = {"x forward": -0.123456789012345678 * (position + 1)}
    replicate = Replicate("comparison", 0, position, "AB"[position % 2], values)
    return ReplicateLine(replicate, "", 1, lost)


@pytest.fixture
def written(header, tmp_path):
    path = tmp_path / "ab.jsonl"
    with SessionWriter.create(path, header, overwrite=False) as writer:
        for position in range(3):
            writer.add(line(position))
        writer.close_session(SessionClosing("then", {"same": 1}))
    return path


def test_round_trip(header, written):
    session, warnings = read_session(written)
    assert warnings == []
    lines = tuple(line(position) for position in range(3))
    assert session == Session(header, lines, SessionClosing("then", {"same": 1}))
    assert session.replicates == tuple(one.replicate for one in lines)


def test_going_on_cuts_off_the_closing_line(header, written):
    with SessionWriter.resume(written) as writer:
        assert writer.session.closing is None and len(writer.session.lines) == 3
        writer.add(line(3))
        assert len(writer.session.lines) == 4
    assert len(read_session(written)[0].lines) == 4


def test_cut_at_every_byte_of_the_last_process(header, tmp_path):
    path = tmp_path / "ab.jsonl"
    with SessionWriter.create(path, header, overwrite=False) as writer:
        writer.add(line(0))
        before = path.stat().st_size
        writer.add(line(1))
    whole = path.read_bytes()
    for size in range(before, len(whole)):
        path.write_bytes(whole[:size])
        session, warnings = read_session(path)
        assert len(session.lines) == 1 and len(warnings) == (size > before)
        with SessionWriter.resume(path) as writer:
            assert path.read_bytes() == whole[:before]
            writer.add(line(1))
        assert path.read_bytes() == whole


def test_it_is_replaced_only_when_told(header, written):
    before = written.read_bytes()
    with pytest.raises(OutputError, match="--overwrite to replace it, or --resume"):
        SessionWriter.create(written, header, overwrite=False)
    assert written.read_bytes() == before
    with SessionWriter.create(written, header, overwrite=True):
        assert read_session(written)[0] == Session(header)


def test_a_second_writer_is_refused(header, written):
    with SessionWriter.resume(written):
        with pytest.raises(RunFileError, match="being written by another opperf"):
            SessionWriter.resume(written)
        with pytest.raises(RunFileError, match="being written by another opperf"):
            SessionWriter.create(written, header, overwrite=True)
    assert len(read_session(written)[0].lines) == 3


@pytest.mark.parametrize(
    "content, words",
    [
        (b"", ":1: not a session: the file is empty"),
        (b"hello\n", ":1: not an opperf session; write one with opperf ab"),
        (b'{"line":"ab","schema":3}\n', ":1: the header is damaged"),
        (
            b'{"line":"header","schema":1}\n',
            "which `opperf ab` writes: its first line is of the kind",
        ),
        (b'{"line":"ab","schema":1}\n', ":1: written in version 1 of the session"),
        (b'{"line":"ab","schema":99}\n', ":1: written in version 99 of the session"),
    ],
)
def test_what_is_no_session_is_refused(tmp_path, content, words):
    path = tmp_path / "ab.jsonl"
    path.write_bytes(content)
    for attempt in (read_session, SessionWriter.resume):
        with pytest.raises(RunFileError) as caught:
            attempt(path)
        assert words in str(caught.value) and "\n" not in str(caught.value)
    assert path.read_bytes() == content


def test_a_bad_line_is_an_error_with_its_place(written):
    lines = written.read_bytes().splitlines(keepends=True)
    for bad in (b"{\n", b'{"line":"record"}\n', lines[0], lines[-1]):
        written.write_bytes(b"".join([*lines[:2], bad, *lines[2:]]))
        with pytest.raises(RunFileError, match=r"ab\.jsonl:[34]: "):
            read_session(written)


def test_what_ended_a_process_is_remembered(header):
    lines = (
        line(0, x=Lost("failed"), y=Lost("crashed", ended=True)),
        line(1, x=Lost("failed again"), y=Lost("failed")),
    )
    session = msgspec.structs.replace(Session(header), lines=lines)
    assert session.lost == {"x": Lost("failed again"), "y": Lost("crashed", ended=True)}


def test_a_case_that_ends_its_process_with_all_threads_costs_no_verdict(header):
    pair = header.pairs[0]
    crash = line(0, **{pair.id: Lost("crashed", ended=True)})
    replicate = msgspec.structs.replace(crash.replicate, phase="coarse")
    lines = (line(1), msgspec.structs.replace(crash, replicate=replicate))
    session = msgspec.structs.replace(Session(header), lines=lines)
    assert session.lost == {} and session.ended == frozenset()
    assert session.coarse_lost == {pair.id: Lost("crashed", ended=True)}


def test_threads_of_the_header(header):
    replace = msgspec.structs.replace
    selection = replace(header.selection, settings=Settings(threads=1))
    thresholds = Thresholds(coarse_blocks=2)
    assert str(header.threads) == "all"
    assert str(replace(header, selection=selection, thresholds=thresholds).threads) == "1,all"


def test_figures_of_a_pair_that_ended_its_process(header):
    pair = header.pairs[0]
    lines = (line(0, **{pair.id: Lost("crashed", ended=True)}), line(1, x=Lost("failed")))
    session = msgspec.structs.replace(Session(header), lines=lines)
    assert session.ended == {f"{pair.id} {metric}" for metric in pair.a.passes}
