"""Damaged and hostile traces end with what can be read of them, or with one line."""

import gzip
import io
import json
import random
import tarfile
import time

import msgspec
import pytest

from opperf.errors import UsageError
from opperf.model import Case
from opperf.opperf import main
from opperf.reports.traces import overview_report
from opperf.reports.traces.cells import outline_report
from opperf.sources.traces import TraceSource
from opperf.traces import archives, objects
from opperf.traces.outline import outline_of
from opperf.traces.overview import overview_of
from opperf.traces.reading import read_traces
from tests.traces import making
from tests.traces.making import collective, event, flat, node, relu, tensor, text

MUTANTS = 300
LONGEST_S = 5.0
"""A hundred times what the slowest takes: only what never ends is above it."""


def small_traces():
    """Both forms of execution traces, and a profiler's."""
    nodes = [
        node(10, "ProfilerStep#1", 2),
        relu(11, 10, outputs=[tensor(50, 60)]),
        node(
            12,
            "aten::add",
            10,
            making.ADD,
            inputs=[tensor(50, 60, 4), tensor(51, 61), 0.5],
            types=["Tensor(float)", "Tensor(long int)", "Double"],
            shapes=[[2, 4], [2, 4], []],
            strides=[[4, 1], [1, 2], []],
            tensor_range='{"1":[0,5]}',
        ),
        collective(13, "allreduce", number=3),
    ]
    shapes = {"Input Dims": [[2, 4], []], "Input type": ["float", "Scalar"]}
    events = [
        event("ProfilerStep#1", 0, 50, "user_annotation"),
        event("aten::add", 1.5, 3, **shapes, **{"Concrete Inputs": ["", "1"], "Ev Idx": 3}),
        event("cudaLaunchKernel", 2, 1, "cuda_runtime", correlation=4),
        event("kernel", 30, 7, "kernel", correlation=4, stream=7, device=0),
        event("gloo:all_reduce", 20, 5, "user_annotation", **shapes),
    ]
    return [
        text(nodes),
        text(list(map(flat, nodes)), "1.0.1"),
        json.dumps({"schemaVersion": 1, "traceEvents": events, "distributedInfo": {"rank": 1}}),
    ]


ODD = ("1e999", "-1", "1" * 400, "NaN", "null", '"x"', "[]", "{}", "[" * 200 + "]" * 200, "true")
"""Values in the place of others."""


def flipped(content, drawn):
    made = bytearray(content)
    for _ in range(drawn.randint(1, 8)):
        made[drawn.randrange(len(made))] = drawn.randrange(256)
    return bytes(made)


def cut(content, drawn):
    return content[: drawn.randrange(len(content))]


def spliced(content, drawn):
    first, second = sorted(drawn.sample(range(len(content)), 2))
    return content[:second] + content[first:]


def with_odd_value(content, drawn):
    """A value of the file is another: a number out of range, a list, an object."""
    tree = json.loads(content)
    places = []
    pending = [tree]
    while pending:
        inner = pending.pop()
        for key in inner if isinstance(inner, dict) else range(len(inner)):
            places.append((inner, key))
            if isinstance(inner[key], (dict, list)):
                pending.append(inner[key])
    for inner, key in drawn.sample(places, 3):
        inner[key] = "ODD"
    made = json.dumps(tree)
    while '"ODD"' in made:
        made = made.replace('"ODD"', drawn.choice(ODD), 1)
    return made.encode()


def with_cycles(content, drawn):
    """Numbers of nodes are exchanged: parents of themselves, the same number twice."""
    numbers = ["1", "2", "10", "11", "12", "13"]
    made = content.decode()
    for _ in range(4):
        key = drawn.choice(('"id": ', '"ctrl_deps": ', '"parent": '))
        pieces = made.split(key)
        if len(pieces) > 1:
            index = drawn.randrange(1, len(pieces))
            _, comma, rest = pieces[index].partition(",")
            pieces[index] = drawn.choice(numbers) + comma + rest
            made = key.join(pieces)
    return made.encode()


MUTATIONS = (flipped, cut, spliced, with_odd_value, with_cycles)


def test_a_mutated_trace_ends_with_cases_or_one_line(tmp_path):
    originals = [original.encode() for original in small_traces()]
    path = tmp_path / "t.json"
    outcomes = {True: 0, False: 0}
    for seed in range(MUTANTS):
        drawn = random.Random(seed)
        content = drawn.choice(originals)
        path.write_bytes(drawn.choice(MUTATIONS)(content, drawn))
        begun = time.monotonic()
        try:
            for trace in read_traces([path]):
                overview = overview_of(trace)
                for report in (
                    overview_report.report_of(overview),
                    outline_report(trace, outline_of(trace, 4)),
                ):
                    json.loads(msgspec.json.encode(report.data))
            found = list(TraceSource([path]).cases())
            assert all(isinstance(case, Case) and case.id for case in found), seed
            outcomes[True] += 1
        except UsageError as error:
            assert "\n" not in str(error), seed
            outcomes[False] += 1
        assert time.monotonic() - begun < LONGEST_S, seed
    # Neither is all there is.
    assert min(outcomes.values()) > MUTANTS // 20, outcomes


def refused(path, capsys):
    """The one line that a command ends with."""
    with pytest.raises(SystemExit) as ended:
        main(["trace", str(path)])
    assert ended.value.code == 2
    out, err = capsys.readouterr()
    assert not out and err.count("\n") == 1, err
    return err


def test_a_compressed_file_without_end_is_read_to_the_limit(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(objects, "LARGEST", 1 << 20)
    path = tmp_path / "bomb.json.gz"
    entries = b",".join(json.dumps(relu(20 + i)).encode() for i in range(40))
    path.write_bytes(gzip.compress(b'{"nodes": [' + (entries + b",") * 200 + b"{}]}"))
    assert path.stat().st_size < 1 << 16
    assert "of JSON, the most read" in refused(path, capsys)


def test_a_compressed_file_of_events_that_are_all_alike_is_refused_early(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(archives, "UNPACKED_IN_ANY_CASE", 1 << 10)
    events = [event("aten::add", 1, 3)] * 2_000
    content = gzip.compress(json.dumps({"schemaVersion": 1, "traceEvents": events}).encode())
    path = tmp_path / "alike.json.gz"
    path.write_bytes(content)
    assert "100 times as large as its compressed file" in refused(path, capsys)
    # The same number of other events is a trace.
    monkeypatch.setattr(archives, "MOST_UNPACKED", 1000)
    (trace,) = read_traces([path])
    assert len(trace.nodes) == len(events)


def test_a_compressed_file_that_was_cut_short_gives_what_precedes_the_end(tmp_path):
    path = tmp_path / "t.json.gz"
    making.write(path, [relu(20 + i, 2, shape=(2, i)) for i in range(2000)])
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    (trace,) = read_traces([path])
    assert trace.notes[0] == f"{path}: 1 file cut short; what precedes the end is used"
    assert 500 < len(trace.nodes) < 1500


def test_long_names_and_schemas_take_no_longer_than_they_are_long(tmp_path):
    spaces = " " * 500_000
    nodes = [
        node(10, f"##{spaces}", 2),
        node(11, f"x {spaces}#", 10),
        relu(12, 11),
        node(13, "aten::f", 2, f"aten::f(Tensor{spaces}(=1) -> Tensor"),
        collective(14, "allreduce"),
    ]
    nodes[-1]["inputs"]["types"] = [f"{'Tensor' * 100_000}", "Int"]
    (tmp_path / "t.json").write_text(text(nodes))
    source = TraceSource([tmp_path / "t.json"])
    assert len(list(source.cases())) == 1
    assert source.excluded["aten.f"] == "1 call: its schema cannot be read"


def test_a_folder_says_which_of_its_files_is_damaged(tmp_path, capsys):
    making.write(tmp_path / "rank-0.json.gz", [relu(20, 2)])
    damaged = tmp_path / "rank-1.json.gz"
    damaged.write_bytes((tmp_path / "rank-0.json.gz").read_bytes()[:2] + b"no more of it")
    with pytest.raises(SystemExit):
        main(["run", str(tmp_path), "--list"])
    assert f"{damaged} cannot be read" in capsys.readouterr().err


def test_spaces_without_end_are_no_trace(tmp_path, capsys):
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(gzip.compress(b" " * (16 << 20)))
    assert "no list of nodes" in refused(path, capsys)


def add(archive, name, content=b"", **changes):
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    for field, value in changes.items():
        setattr(entry, field, value)
    archive.addfile(entry, io.BytesIO(content))


def test_links_and_paths_of_an_archive_lead_nowhere(tmp_path, capsys):
    secret = tmp_path / "secret.json"
    secret.write_text(text([relu(20, 2)]))
    path = tmp_path / "t.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        add(archive, "link.json", type=tarfile.SYMTYPE, linkname=str(secret))
        add(archive, "hard.json", type=tarfile.LNKTYPE, linkname=str(secret))
        add(archive, "pipe.json", type=tarfile.FIFOTYPE)
        add(archive, "device.json", type=tarfile.CHRTYPE, devmajor=1, devminor=5)
        add(archive, "folder.json", type=tarfile.DIRTYPE)
    assert "has no trace" in refused(path, capsys)
    before = sorted(tmp_path.rglob("*"))
    with tarfile.open(path, "w:gz") as archive:
        for name in ("/tmp/absolute.json", "../../up.json"):
            add(archive, name, text([relu(20, 2)]).encode())
    assert [trace.topmost().__next__().id for trace in read_traces([path])] == [20, 20]
    assert sorted(tmp_path.rglob("*")) == before


def test_a_member_of_a_size_that_is_not_there_is_one_line(tmp_path, capsys):
    path = tmp_path / "t.tar"
    with tarfile.open(path, "w") as archive:
        add(archive, "t.json", text([relu(20, 2)]).encode())
    content = bytearray(path.read_bytes())
    header = tarfile.TarInfo("t.json")
    header.size = 1 << 50
    content[:512] = header.tobuf(tarfile.GNU_FORMAT)[:512]
    path.write_bytes(content)
    assert "it ends within a file of it" in refused(path, capsys)


def test_a_member_of_huge_size_is_passed_to_the_limit(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(archives, "LARGEST", 1 << 20)
    path = tmp_path / "t.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        add(archive, "zeros.bin", bytes(8 << 20))
        add(archive, "t.json", text([relu(20, 2)]).encode())
    assert path.stat().st_size < 1 << 16
    assert "the most read" in refused(path, capsys)


@pytest.mark.parametrize("share", (0.1, 0.5, 0.9))
def test_a_damaged_archive_is_one_line(tmp_path, capsys, share):
    path = tmp_path / "t.tar.gz"
    making.write(path, [relu(20 + i, 2) for i in range(2000)])
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    assert "cannot be read" in refused(path, capsys)
