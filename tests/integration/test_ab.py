"""`opperf ab` on real MXNet: what was made slower is found, and arms that cannot be are refused."""

import json
import subprocess
import sys

import pytest

from benchmarks.ab_on_mxnet import FEW, slowed

WAIT_S = 600
"""Longest wait, for machines that do other things as well."""

NOISY = 0.3
"""Noise floor from which a doubled time may go unnoticed in the few processes there are."""


def opperf(*words, code=0):
    done = subprocess.run(
        [sys.executable, "-m", "opperf", *words], capture_output=True, text=True, timeout=WAIT_S
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout, done.stderr


def test_what_was_slowed_is_found_and_nothing_else(tmp_path, monkeypatch):
    # Threads that wait for each other measure whoever else is on the cores.
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    path = tmp_path / "ab.jsonl"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "opperf", "ab", "gamma", "exp", "sum", "broadcast_add"),
            *("--size", "small", "--max-configs", "1", "--no-backward", "--case-time", "0.03"),
            *("--control-blocks", "2", "--screen-blocks", "2", "--confirm-blocks", "2"),
            *("--threshold", "20%", "--format", "json", "--quiet", "--report", str(path)),
            *(word for setting in slowed(FEW) for word in ("--b", setting)),
        ],
        capture_output=True,
        text=True,
        timeout=WAIT_S,
    )
    assert done.returncode in (0, 1, 3), done.stderr
    report = json.loads(done.stdout)
    said = {row["operator"]: row["verdict"] for row in report["rows"]}
    assert said.keys() == {"gamma", "exp", "sum", "broadcast_add"}
    unslowed = {verdict for name, verdict in said.items() if name != "gamma"}
    assert not unslowed & {"regressed", "improved"}
    if not report["valid"] or report["delta"] > NOISY:
        pytest.skip(f"A differs from itself by {report['floor']:.0%} on this machine just now")
    if said["gamma"] == "ambiguous":
        pytest.skip("two blocks cannot tell on this machine just now")
    assert said["gamma"] == "regressed" and done.returncode == 1


@pytest.mark.parametrize(
    "arms, label",
    [
        (("--a", "ops:nd.add", "--b", "ops:np.add"), "nd.add | np.add"),
        (
            ("relu", *("--b", "dtype:float16", "--b", "profiler:python", "--b", "cache:cold")),
            "relu",
        ),
    ],
)
def test_cases_are_paired_by_their_inputs(arms, label):
    out, _ = opperf("ab", *arms, "--size", "small", "--dry-run")
    assert "3 cases: control and screen" in out and "without a partner" not in out
    rows = [line for line in out.splitlines() if line.endswith(")") and "(64, 64)" in line]
    assert rows and all(label in row for row in rows)


def test_an_environment_without_mxnet(tmp_path):
    broken = tmp_path / "broken"
    (broken / "mxnet").mkdir(parents=True)
    (broken / "mxnet" / "__init__.py").write_text("raise ImportError('libmxnet.so: none')")
    report = tmp_path / "ab.jsonl"
    arm = f"env:PYTHONPATH={broken}"
    _, err = opperf("ab", "relu", "--b", arm, "--report", str(report), "--quiet", code=2)
    assert err.startswith(f"opperf: arm B ({arm}): mxnet cannot be imported (libmxnet.so: none)")
    assert err.count("\n") == 1 and not report.exists()
