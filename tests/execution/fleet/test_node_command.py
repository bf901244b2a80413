"""`ab --executor ray`: sessions that nodes of a real cluster measure, with the fake framework."""

import hashlib
import json
import shlex
import sys
import time
from collections import Counter
from types import SimpleNamespace

import psutil
import pytest

from opperf.comparison.ab.session_file import read_session
from opperf.opperf import main
from opperf.requests.ab import node as on_node

ray = pytest.importorskip("ray")

pytestmark = pytest.mark.xdist_group("ray")

QUICK = (
    *("--framework", "fake", "--case-time", "0.001", "--threads", "1", "--cpus", "none"),
    *("--control-blocks", "2", "--blocks", "2", "--threshold", "5%", "--no-pace", "--no-check"),
    "--no-backward",
    *("--a", "env:FAKE_FORKS=1", "--b", "env:FAKE_FORKS=1"),
    *("--b", "env:FAKE_SLOWDOWN=relu=1.3"),
)

POLL_S = 0.1

PROCESS = b'"line":"process"'


@pytest.fixture
def run(cluster, monkeypatch, tmp_path, capfd):
    """Runs `opperf ab` on the cluster; the exit code, and what is printed and said."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPPERF_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(on_node, "POLL_S", POLL_S)
    monkeypatch.setattr(sys, "argv", ["opperf", "ab", "of", "a", "user"])

    def done(*words):
        with pytest.raises(SystemExit) as ended:
            main(["ab", *words, "--executor", "ray", "--address", cluster.address])
        return ended.value.code, *capfd.readouterr()

    return done


@pytest.fixture
def at_processes(monkeypatch, tmp_path):
    """Has something done between two looks at the node, once the file has some processes."""

    def done(file, number, action):
        def sleep(seconds):
            path = tmp_path / file
            time.sleep(seconds)
            if path.exists() and path.read_bytes().count(PROCESS) >= number:
                monkeypatch.setattr(on_node, "time", time)
                action()

        monkeypatch.setattr(on_node, "time", SimpleNamespace(sleep=sleep))

    return done


def interrupt():
    raise KeyboardInterrupt


def processes_with(word):
    return [
        process.pid
        for process in psutil.process_iter(["cmdline"])
        if any(word in part for part in process.info["cmdline"] or ())
    ]


def nodes_of_blocks(session):
    """Returns the nodes of each block, and how many processes it has."""
    found = {}
    for process in session.processes:
        place = process.line.place
        nodes = found.setdefault((place.phase, place.block), Counter())
        nodes[{record.node for record in process.records}.pop()] += 1
    return found


def test_a_session_is_interrupted_and_resumed_on_another_node(run, at_processes, tmp_path):
    path = tmp_path / "s.jsonl"
    at_processes("s.jsonl", 2, interrupt)
    code, out, err = run("relu", *QUICK, "--nodes", "name=b", "--report", "s.jsonl")
    assert (code, out) == (130, "") and "measuring on node b\n" in err
    hint = err.partition("interrupted; the measurements are in s.jsonl. Resume with: opperf ")[2]
    assert shlex.split(hint)[:4] == ["ab", "--resume", "--report", "s.jsonl"]
    assert hint.rstrip().endswith("--nodes name=b")
    assert not processes_with("--on-node")
    before = path.read_bytes()

    # What was measured on other hardware is not joined with the rest.
    cpu = read_session(path)[0].environments["A"].cpu
    path.write_bytes(before.replace(json.dumps(cpu).encode(), b'"other"'))
    changed = path.read_bytes()
    code, _, err = run("--resume", "s.jsonl", "--cpus", "none", "--nodes", "name=a")
    assert code == 2 and f"cpu was 'other' and is {cpu!r}; resume it on a node of that kind" in err
    assert path.read_bytes() == changed

    path.write_bytes(before + b'{"line":"process","place":{"pha')
    code, out, err = run(
        *("--resume", "s.jsonl", "--cpus", "none", "--nodes", "name=a", "-ov.json"),
        *("--fail-on", "regressed"),
    )
    assert code == 1, err
    assert path.read_bytes().startswith(before)
    report = json.loads((tmp_path / "v.json").read_text())
    assert report["session"]["complete"]
    assert {row["verdict"] for row in report["rows"]} == {"regressed"}
    session, _ = read_session(path)
    blocks = nodes_of_blocks(session)
    assert all(len(nodes) == 1 and sum(nodes.values()) == 4 for nodes in blocks.values()), blocks
    assert {node for nodes in blocks.values() for node in nodes} == set(report["session"]["nodes"])
    assert session.header.options["command"] == "opperf ab of a user"


def test_a_node_that_ends_loses_nothing_that_has_come(cluster, run, at_processes, tmp_path):
    # So many blocks that the session is not done before the node's end is known.
    long = list(QUICK)
    long[long.index("--blocks") + 1] = "200"
    node = cluster.add_node(num_cpus=1, labels={"name": "g", "fate": "z"})
    at_processes("k.jsonl", 5, lambda: cluster.remove_node(node, allow_graceful=False))
    code, out, err = run(
        *("relu", *long, "--report", "k.jsonl"), *("--nodes", "name=g", "--nodes", "fate=z")
    )
    assert (code, out) == (3, "")
    assert "node g has ended: " in err and "the measurements are in k.jsonl. Resume with: " in err
    # Another one may have that label, but not that name.
    assert err.rstrip().endswith("--nodes fate=z")
    session, warnings = read_session(tmp_path / "k.jsonl")
    assert len(session.processes) >= 5 and session.nodes == ("g",) and not warnings
    assert not processes_with("--on-node")
    (kept,) = (tmp_path / "data" / "runs").glob("*.jsonl")
    assert kept.read_bytes() == (tmp_path / "k.jsonl").read_bytes()


def test_what_a_node_refuses_changes_no_file(run, tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_text("of somebody else\n")
    before = hashlib.sha256(path.read_bytes()).digest()
    new = ("--report", "t.jsonl")
    for words, code, why in (
        (("relu", *new, "--nodes", "name=z"), 2, "--nodes name=z: none of the cluster's"),
        (("relu", *new, "--dry-run"), 2, "--dry-run plans on this machine"),
        (("relu", *new, "--profiler", "instructions"), 2, "counts on this machine"),
        (("relu", *new, "--resume"), 2, "there is no session to resume"),
        (("relu", "--report", "s.jsonl"), 2, "s.jsonl exists; add --overwrite"),
        (("reluu", "--report", "s.jsonl", "--overwrite"), 2, "no operator is called 'reluu'"),
        (("--resume", "s.jsonl"), 2, "s.jsonl"),
    ):
        times = QUICK if "instructions" not in words else QUICK[:2] + QUICK[-6:]
        found, out, err = run(*words, *(() if words[0] == "--resume" else times))
        assert (found, out) == (code, "") and why in err, (words, err)
        assert sum(line.startswith("opperf: ") for line in err.splitlines()) == 1
    assert hashlib.sha256(path.read_bytes()).digest() == before
    assert [file.name for file in tmp_path.iterdir()] == ["s.jsonl"]
