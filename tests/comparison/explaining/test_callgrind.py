"""Files in callgrind's format."""

import pytest

from opperf.comparison.explaining.callgrind import Call, Node, is_dump, read_dump
from opperf.errors import CallgrindError


def own(dump):
    return {node: counts for node, counts in zip(dump.nodes, dump.own, strict=True) if any(counts)}


def calls(dump):
    return {
        (dump.nodes[caller].name, dump.nodes[callee].name): call
        for (caller, callee), call in dump.edges.items()
    }


EXAMPLE = """
fl=file1.c
fn=main
16 20
cfn=func1
calls=1 50
16 400
cfi=file2.c
cfn=func2
calls=3 20
16 400

fn=func1
51 100
cfi=file2.c
cfn=func2
calls=2 20
51 300

fl=file2.c
fn=func2
20 700
"""
"""Of the shape that the format's description has."""

COMPRESSED = """
fl=(1) file1.c
fn=(1) main
16 20
cfn=(2) func1
calls=1 50
16 400
cfi=(2) file2.c
cfn=(3) func2
calls=3 20
* 400
fn=(2)
+35 100
cfi=(2)
cfn=(3)
calls=2 20
* 300
fl=(2)
fn=(3)
-31 700
"""


@pytest.mark.parametrize("body", [EXAMPLE, COMPRESSED])
def test_functions_have_own_counts_and_calls(dump_of, body):
    dump = dump_of(body)
    assert own(dump) == {
        Node("main", 1, "???"): [20],
        Node("func1", 1, "???"): [100],
        Node("func2", 1, "???"): [700],
    }
    assert calls(dump) == {
        ("main", "func1"): Call(1, [400]),
        ("main", "func2"): Call(3, [400]),
        ("func1", "func2"): Call(2, [300]),
    }
    files = {dump.nodes[place].name: file for place, file in dump.files.items()}
    assert files == {"main": "file1.c", "func1": "file1.c", "func2": "file2.c"}
    assert dump.total == [820]


def test_counts_of_inlined_files_are_of_the_function(dump_of):
    dump = dump_of("fl=(1) a.c\nfn=f\n1 2\nfi=(2) b.h\n7 30\nfe=(1)\n2 400\nfi=(2)\n8 1\nfn=g\n3 5")
    assert own(dump) == {Node("f", 1, "???"): [433], Node("g", 1, "???"): [5]}
    assert set(dump.files.values()) == {"a.c"}


def test_the_called_object_is_named_only_for_the_next_call(dump_of):
    body = "ob=/usr/lib/liba.so\nfn=f\n1 1\ncob=/lib/libb.so.6\ncfn=g\ncalls=1 1\n1 5\ncfn=h\n"
    dump = dump_of(f"{body}calls=1 1\n1 6")
    assert set(dump.nodes) == {
        Node("f", 1, "liba.so"),
        Node("g", 1, "libb.so.6"),
        Node("h", 1, "liba.so"),
    }


def test_the_tag_of_an_interpreter_is_no_part_of_an_object(dump_of):
    body = "ob=/a/_umath.cpython-311-x86_64-linux-gnu.so\nfn=f\n1 1\nob=/b/_umath.cpython-312.so\n"
    assert own(dump_of(f"{body}fn=f\n1 2")) == {Node("f", 1, "_umath.so"): [3]}


def test_nested_calls_are_apart(dump_of):
    dump = dump_of("fn=f\n1 1\nfn=f'2\n1 2\nfn=f'12\n1 4\nfn=g()::'lambda'(int)\n1 8")
    assert [(node.name, node.level) for node in dump.nodes] == [
        ("f", 1),
        ("f", 2),
        ("f", 12),
        ("g()::'lambda'(int)", 1),
    ]


def test_several_events_and_positions(dump_of, tmp_path, text_of):
    body = "fn=f\n0x10 1 5 2 3\n+2 * 7\n* +3\ncfn=g\ncalls=1 0x80 4\n+1 +1 9 8\nfn=g\n0x80 4 9 8"
    text = text_of(body, events="Ir Dr Dw").replace("positions: line", "positions: instr line")
    (tmp_path / "dump").write_text(text)
    dump = read_dump(tmp_path / "dump")
    assert list(own(dump).values()) == [[12, 2, 3], [9, 8, 0]]
    assert calls(dump) == {("f", "g"): Call(1, [9, 8, 0])}


def test_jumps_are_passed_over_but_for_names(dump_of):
    body = "fn=(1) f\n1 5\njump=3 +2\n*\njcnd=2/4 +1\n* \njfi=(4) x.c\njfn=(5) g\njump=1 9\n* \n"
    assert list(own(dump_of(f"{body}fl=(4)\nfn=(5)\n1 2")).values()) == [[5], [2]]


def test_parts_are_added_up(tmp_path, text_of):
    path = tmp_path / "dump"
    first = "fn=(1) f\n1 5\ntotals: 5\n"
    path.write_text(
        text_of(first, creator="callgrind-3.19.0") + "part: 2\nevents: Ir\nfn=(1)\n1 7\ntotals: 7"
    )
    assert list(own(read_dump(path)).values()) == [[12]]


@pytest.mark.parametrize(
    ("trigger", "number", "overhead"),
    [
        ("opperf calls=200 overhead=1234", 200, 1234),
        ("opperf calls=7", 7, None),
        ("Program termination", 1, None),
    ],
)
def test_the_description_has_the_number_of_calls(dump_of, trigger, number, overhead):
    dump = dump_of("fn=f\n1 5", trigger=trigger)
    assert (dump.calls, dump.overhead) == (number, overhead)


def test_an_empty_dump_has_no_counts(dump_of):
    dump = dump_of("", events="Ir Dr")
    assert (dump.nodes, dump.total) == ((), [0, 0])


@pytest.mark.parametrize(
    ("body", "line", "what"),
    [
        ("fn=f\n1 5\nnonsense", 14, "not in callgrind's format: 'nonsense'"),
        ("fn=f\n1 x", 13, "no line of counts: '1 x'"),
        ("fn=f\n1 5 6", 13, "2 counts of 1 event"),
        ("1 5", 12, "counts before a function"),
        ("fn=(3)", 12, "(3) stands for no name yet"),
        ("fn=f\ncalls=1 1\n1 5", 14, "calls of no function"),
        ("fn=f\ncfn=g\ncalls=x", 14, "no number of calls: 'x'"),
        ("fn=f\ncfn=g\ncalls=1 1\nfn=h", 15, "no counts follow the line of calls above"),
        ("fn=f\ncfn=g\ncalls=1 1", 15, "the file is cut short"),
        ("fn=f\n1 5\ntotals: 6", 15, "the counts add up to [5] and not to the totals, [6]"),
        ("fn=f\n1 5\ntotals: five", 14, "no totals: 'five'"),
        ("events: Dr", 12, "a part counts Dr, after one of Ir"),
        ("positions: column", 12, "unknown positions: column"),
        ("desc: Trigger: calls=0", 12, "counts of 0 calls"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(dump_of, body, line, what):
    with pytest.raises(CallgrindError) as error:
        dump_of(body)
    message = str(error.value)
    # The template ends with an empty line.
    assert f"dump:{line}: {what}" in message or f"dump:{line - 1}: {what}" in message


def test_a_file_of_callgrinds_ends_with_its_totals(dump_of):
    with pytest.raises(CallgrindError, match="cut short"):
        dump_of("fn=f\n1 5", creator="callgrind-3.19.0")


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "a"
    path.write_text("version: 1\n\n")
    with pytest.raises(CallgrindError, match=r"a:2: ends without a line of events"):
        read_dump(path)
    with pytest.raises(CallgrindError, match="cannot be read: No such file"):
        read_dump(tmp_path / "b")


def test_a_dump_is_known_by_its_first_line(tmp_path):
    for name, content, is_one in (
        ("a", b"# callgrind format\n", True),
        ("b", b"version: 1\n", True),
        ("c", b'{"line": "header"}\n', False),
        ("d", b"", False),
    ):
        (tmp_path / name).write_bytes(content)
        assert is_dump(tmp_path / name) is is_one
    assert not is_dump(tmp_path / "e")
