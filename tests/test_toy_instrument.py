"""Instruments of other packages: from a run to a comparison."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from opperf.model import Status
from opperf.results.runfile import read_run

TOY = Path(__file__).parent / "toy_instrument"
COUNTER = Path(__file__).parent / "toy_counter"
ROOT = Path(__file__).parents[1]

COUNTS = ("--size", "small", "-w", "0", "-r", "8", "--max-configs", "1")
BRIEFLY = ("--framework", "numpy", "--threads", "1", *COUNTS)
"""With more threads, a case that waited for a core is measured again, by a second worker."""


@pytest.fixture
def opperf(tmp_path):
    """opperf in a folder of its own, as if the toy's package were installed."""
    path = os.pathsep.join([str(TOY), str(COUNTER), str(ROOT), os.environ.get("PYTHONPATH", "")])
    variables = os.environ | {"PYTHONPATH": path.strip(os.pathsep), "HOME": str(tmp_path)}

    def called(*arguments, code=0, **more):
        done = subprocess.run(
            [sys.executable, "-m", "opperf", *arguments],
            cwd=tmp_path,
            env=variables | more,
            capture_output=True,
            text=True,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout or done.stderr

    called.folder = tmp_path
    return called


def test_its_values_are_in_tables_files_and_comparisons(opperf):
    table = opperf("run", "add", *BRIEFLY, "-o", "a.jsonl")
    assert "Bandwidth" in table
    opperf("run", "add", *BRIEFLY, "-o", "b.jsonl")
    run, _ = read_run(opperf.folder / "a.jsonl")
    (record,) = run.records
    assert record.samples["bandwidth"] == [
        record.moved_bytes / ns for ns in record.samples["forward"]
    ]
    compared = opperf("compare", "a.jsonl", "b.jsonl", "--metric", "bandwidth")
    assert "bandwidth: 1 case in common" in compared and "Base GB/s" in compared
    exported = opperf("export", "a.jsonl", "--to", "bencher", "-o", "-")
    (measures,) = json.loads(exported).values()
    assert measures["bandwidth"]["value"] > 0
    opperf("plot", "a.jsonl", "--metric", "bandwidth", "-o", "plot.svg")
    assert "Bandwidth" in (opperf.folder / "plot.svg").read_text()


def test_one_that_fails_costs_its_own_value_only(opperf):
    said = opperf("run", "add", *BRIEFLY, "--seed", "13", "-o", "a.csv", TOY_FAULT="prepare")
    assert "add: no kept_before: ZeroDivisionError: no luck" in said
    assert "add: no bandwidth: ZeroDivisionError: no luck" in said
    (row,) = csv.DictReader((opperf.folder / "a.csv").read_text().splitlines())
    assert row["status"] == Status.OK.value and float(row["forward_median_ms"]) > 0
    assert row["bandwidth_median_GB/s"] == ""
    assert "not_produced" in row["notes"] and "ZeroDivisionError: no luck" in row["notes"]


def test_what_one_declares_is_honoured(opperf):
    counted = ("--profiler", "frames", *BRIEFLY)
    said = opperf("run", "add", "exp", *counted, "-o", "a.jsonl")
    assert "frames counted" in said and "Frames" in said
    run, _ = read_run(opperf.folder / "a.jsonl")
    assert [record.status for record in run.records] == [Status.OK] * 2, run.records[0].reason
    assert all(record.summaries.keys() == {"frames"} for record in run.records)
    assert all(record.summaries["frames"].median > 0 for record in run.records)
    (environment,) = run.environments.values()
    assert environment.threads["OMP_NUM_THREADS"] == "1"
    compared = opperf("compare", "a.jsonl", "a.jsonl")
    assert "frames: 2 cases in common" in compared
    opperf("export", "a.jsonl", "--to", "csv", "-o", "a.csv")
    rows = csv.DictReader((opperf.folder / "a.csv").read_text().splitlines())
    assert all(float(row["frames_frames"]) > 0 for row in rows)
    refused = opperf("run", "add", *counted, "--cache", "cold", "-o", "b.jsonl", code=2)
    assert refused.count("\n") == 1 and "counts none of a flush; omit --cache cold" in refused


def test_one_beside_times_has_its_turn(opperf):
    opperf("run", "add", *BRIEFLY, "--no-memory", "-o", "a.jsonl")
    run, _ = read_run(opperf.folder / "a.jsonl")
    (record,) = run.records
    assert record.summaries["kept_before"].median == len(record.summaries) - 1
    assert {"forward", "bandwidth"} < record.summaries.keys()
