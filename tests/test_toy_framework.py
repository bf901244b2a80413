"""Frameworks that another package adds: one with the required core alone, one with capabilities."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from opperf.model import MetricKind, Status
from opperf.results.runfile import read_run

TOY = Path(__file__).parent / "toy_framework"
ROOT = Path(__file__).parents[1]


@pytest.fixture
def opperf(tmp_path):
    """opperf in a folder of its own, as if the toy's package were installed."""
    path = os.pathsep.join([str(TOY), str(ROOT), os.environ.get("PYTHONPATH", "")])
    variables = os.environ | {"PYTHONPATH": path.strip(os.pathsep), "HOME": str(tmp_path)}

    def called(*arguments, code=0):
        done = subprocess.run(
            [sys.executable, "-m", "opperf", *arguments],
            cwd=tmp_path,
            env=variables,
            capture_output=True,
            text=True,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout, done.stderr

    called.folder = tmp_path
    return called


COUNTS = ("-w", "0", "-r", "2", "--size", "small", "--dtype", "float64")


def test_it_is_listed_measured_and_measured_again(opperf):
    out, _ = opperf("list", "--framework", "toy")
    assert [line.split()[0] for line in out.splitlines()[2:4]] == ["add", "scale"]
    opperf("run", "--framework", "toy", *COUNTS, "-f", "jsonl", "-o", "a.jsonl")
    run, warnings = read_run(opperf.folder / "a.jsonl")
    assert warnings == [] and run.environment.versions == {"toy": "1.0"}
    assert {record.status for record in run.records} == {Status.OK}
    assert {record.case.label for record in run.records} == {"add", "scale"}
    for record in run.records:
        assert set(record.summaries) == {"forward", "total"}
        assert {(note.metric, note.code) for note in record.notes} >= {("memory", "no_memory")}
    opperf("run", "a.jsonl", "-f", "jsonl", "-o", "b.jsonl")
    again, _ = read_run(opperf.folder / "b.jsonl")
    assert again.cases == run.cases and len(again.records) == len(run.records)
    assert "2 cases" in opperf("compare", "a.jsonl", "b.jsonl")[0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--ctx", "gpu"), "gpu(0): toy computes on the CPU only; use --ctx cpu"),
        (("--profiler", "native"), "unknown profiler 'native'; toy has: python, instructions"),
        (("--mode", "graph"), "unknown mode 'graph'; toy has: eager"),
    ],
)
def test_what_it_lacks_is_refused_with_what_it_has(opperf, arguments, words):
    _, err = opperf("run", "--framework", "toy", *COUNTS, *arguments, code=2)
    assert err == f"opperf: {words}\n"


def test_what_it_lacks_is_skipped_beside_what_it_has(opperf):
    wanted = ("--ctx", "cpu,gpu", "--mode", "eager,graph")
    opperf("run", "scale", "--framework", "toy", *COUNTS, *wanted, "-f", "jsonl", "-o", "a.jsonl")
    run, _ = read_run(opperf.folder / "a.jsonl")
    found = {
        (record.case.settings.device, record.case.settings.mode): record.status
        for record in run.records
    }
    assert found == {
        ("cpu(0)", "eager"): Status.OK,
        ("gpu(0)", "eager"): Status.SKIPPED,
        ("cpu(0)", "graph"): Status.SKIPPED,
        ("gpu(0)", "graph"): Status.SKIPPED,
    }
    assert all(record.reason for record in run.records if record.status is Status.SKIPPED)


def measured(opperf, *arguments):
    """The run of `scale` on the toy with capabilities."""
    common = ("--framework", "toyqueue", *COUNTS, "-f", "jsonl", "-o", "a.jsonl", "--overwrite")
    opperf("run", "scale", *common, *arguments)
    return read_run(opperf.folder / "a.jsonl")[0]


def test_a_profiler_of_a_frameworks_own_is_preferred_and_times_with_its_own_clock(opperf):
    run = measured(opperf, "--threads", "3,all")
    for record in run.records:
        assert (record.case.settings.profiler, record.time_kind) == ("toy", MetricKind.KERNEL)
        assert record.samples["forward"] == [100.0, 100.0]
        threads = run.environments[record.environment].threads["compute threads"]
        assert threads == str(record.case.settings.threads or 4)
    out, _ = opperf("compare", "a.jsonl", "a.jsonl", "--metric", "kernel", "--format", "json")
    assert '"metric": "kernel"' in out


def test_profilers_by_name_and_device(opperf):
    run = measured(opperf, "--profiler", "toy,python,events,native", "--ctx", "cpu,gpu")
    found = {
        (one.case.settings.device, one.case.settings.profiler): (one.status, one.time_kind)
        for one in run.records
    }
    kernel, wall = (Status.OK, MetricKind.KERNEL), (Status.OK, MetricKind.WALL)
    skipped = (Status.SKIPPED, None)
    assert found == {
        ("cpu(0)", "toy"): kernel,
        ("cpu(0)", "python"): wall,
        ("cpu(0)", "events"): skipped,
        ("cpu(0)", "native"): skipped,
        ("gpu(0)", "toy"): kernel,
        ("gpu(0)", "python"): wall,
        ("gpu(0)", "events"): kernel,
        ("gpu(0)", "native"): skipped,
    }
    _, err = opperf("run", "--framework", "toyqueue", *COUNTS, "--profiler", "toy,pyhton", code=2)
    assert "unknown profiler 'pyhton'; did you mean python?" in err


def test_events_time_on_the_device_and_the_frameworks_flush_makes_calls_cold(opperf):
    run = measured(opperf, "--profiler", "events", "--cache", "hot,cold")
    hot, cold = run.records
    assert hot.samples["forward"] == [100.0, 100.0]
    assert cold.samples["forward"] == [150.0, 150.0]
    (note,) = [note for note in cold.notes if note.code == "cold_cache"]
    assert "toyqueue flushes the caches of gpu(0)" in note.message


def test_a_framework_without_options_says_so(opperf):
    words = ("add", "--framework", "toy", "--dtype", "float64", "--set", "a.b=true")
    _, refused = opperf(*words, code=2)
    assert refused.endswith("toy has no options for --set, such as 'a.b'; omit it\n")
    assert refused.count("\n") == 1
