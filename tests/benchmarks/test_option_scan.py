"""The whole scan, with the fake framework: what it finds, its table, and how it goes on."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.inputs.option_scan.report import configuration_text, rows, table
from benchmarks.inputs.option_scan.results import Results

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def scan(variables, tmp_path_factory):
    """Runs the command; the operator is slower in one gear, and faster with an option."""
    path = tmp_path_factory.mktemp("scan") / "scan.jsonl"
    own = {
        "FAKE_OPTIONS": "1",
        "FAKE_FORKS": "1",
        "FAKE_NOISE": "0.01",
        "FAKE_SLOWDOWN": "geared gear:high=1.5,geared turbo:True=0.5",
    }

    def run(*options):
        command = [sys.executable, "-m", "benchmarks.inputs.option_scan", str(path)]
        chosen = ["--framework", "fake", "--operators", "geared", "relu", "--cpus", "none"]
        return subprocess.run(
            [*command, *chosen, *options],
            cwd=ROOT,
            env=variables | own,
            capture_output=True,
            text=True,
        )

    return run, path


@pytest.fixture(scope="module")
def done(scan):
    run, path = scan
    spent = run("--budget", "0")
    assert spent.returncode == 0 and "budget is spent" in spent.stderr, spent.stderr
    assert not Results.read(path).screened
    finished = run()
    assert finished.returncode == 0 and "budget" not in finished.stderr, finished.stderr
    return finished.stdout, Results.read(path)


def test_what_changes_the_time_is_confirmed(done):
    _, results = done
    found = {
        (row.screened.variant.parameter, row.screened.variant.value, row.metric): row.verdict.ratio
        for row in rows(results)
        if "middle" not in configuration_text(row.screened.variant.case)
    }
    assert {name: pytest.approx(ratio, rel=0.1) for name, ratio in found.items()} == {
        ("gear", "high", "backward"): 1.5,
        ("gear", "high", "forward"): 1.5,
        ("turbo", True, "backward"): 0.5,
        ("turbo", True, "forward"): 0.5,
    }


def test_every_variant_has_a_result(done):
    _, results = done
    listed = [
        (one.variant.case.label, one.variant.parameter, one.variant.value, one.reason)
        for one in results.of_process(1).values()
    ]
    assert ("geared", "gear", "reverse", "refused: shapes do not match") in listed
    assert ("relu", "phase", "train", "") in listed
    assert not any(value in ("low", "middle") for _, _, value, _ in listed), "cases have them"


def test_the_table_shows_the_confirmed_ones_first(done):
    out, results = done
    lines = table(results).splitlines()
    assert lines[0].split() == [
        *("Operator", "Configuration", "Parameter", "Value", "Pass", "Time", "us", "Ratio"),
        "Confirmed",
    ]
    assert lines[2].startswith("geared") and lines[2].endswith("yes")
    assert all(line in out for line in lines)
    assert "options of 1 operators" in out


def test_a_finished_scan_measures_nothing_again(scan, done):
    run, path = scan
    before = Results.read(path)
    again = run()
    after = Results.read(path)
    assert again.returncode == 0
    assert [one.key for one in after.screened] == [one.key for one in before.screened]
    assert [one.session for one in after.rounds] == [one.session for one in before.rounds]


def test_the_file_of_another_scan_is_refused(scan, done):
    run, _ = scan
    refused = run("--configurations", "1")
    assert refused.returncode == 2 and "another scan" in refused.stderr
    shown = run("--report", "--refused", "--screened")
    assert "shapes do not match" in shown.stdout
    assert re.search(r"gear +high +forward 1\.[45]", shown.stdout)
