"""`opperf ab` on real MXNet: a whole session, and arms that cannot be.

That what was made slower is found there, and nothing else, is a matter of real times:
`benchmarks/verdicts/ab_on_mxnet.py`.
"""

import json
import subprocess
import sys

import pytest

WAIT_S = 600
"""Longest wait, for machines that do other things as well."""


def opperf(*words, code=0):
    done = subprocess.run(
        [sys.executable, "-m", "opperf", *words], capture_output=True, text=True, timeout=WAIT_S
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout, done.stderr


VERDICTS = {"regressed", "improved", "same", "ambiguous", "invalid"}


@pytest.mark.sweep
def test_a_session_has_a_verdict_for_every_figure(tmp_path):
    path = tmp_path / "ab.jsonl"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "opperf", "ab", "gamma", "broadcast_add"),
            *("--size", "small", "--max-configs", "1", "--no-backward", "--case-time", "0.01"),
            *("--control-blocks", "2", "--blocks", "2"),
            *("--format", "json", "--quiet", "--report", str(path)),
            *("--b", "env:OMP_NUM_THREADS=1"),
        ],
        capture_output=True,
        text=True,
        timeout=WAIT_S,
    )
    report = json.loads(done.stdout)
    assert {row["operator"] for row in report["rows"]} == {"broadcast_add", "gamma"}
    # Which verdict it is lies with the machine.
    assert {row["verdict"] for row in report["rows"]} <= VERDICTS
    assert done.returncode in (0, 1, 3) and "Traceback" not in done.stderr, done.stderr
    opperf("compare", "--from-ab", str(path), code=done.returncode)


@pytest.mark.parametrize(
    "arms, label, number",
    [
        (
            ("--a", "ops:nd.add", "--b", "ops:np.add"),
            "nd.add | np.add",
            "5 cases, 1 case without a partner",
        ),
        (
            ("softsign", *("--b", "dtype:float16", "--b", "profiler:python", "--b", "cache:cold")),
            "softsign",
            "3 cases",
        ),
    ],
)
def test_cases_are_paired_by_their_inputs(
    command_here, plan_arms, shared_worker, arms, label, number
):
    plan_arms(shared_worker)
    out, _ = command_here("ab", *arms, "--size", "small", "--dry-run")
    assert f"{number}: 24 processes up to the first look" in out
    rows = [line for line in out.splitlines() if line.endswith(")") and "(64, 64)" in line]
    assert rows and all(label in row for row in rows)


def test_an_environment_without_mxnet(tmp_path):
    broken = tmp_path / "broken"
    (broken / "mxnet").mkdir(parents=True)
    (broken / "mxnet" / "__init__.py").write_text("raise ImportError('libmxnet.so: none')")
    report = tmp_path / "ab.jsonl"
    arm = f"env:PYTHONPATH={broken}"
    _, err = opperf("ab", "relu", "--b", arm, "--report", str(report), "--quiet", code=2)
    assert err.startswith(f"opperf: arm B ({arm}): mxnet ")
    assert "cannot be imported: libmxnet.so: none" in err
    assert err.count("\n") == 1 and not report.exists()
