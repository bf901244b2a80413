"""Collective functions of JAX, on two devices of the host."""

import subprocess
import sys

import pytest

pytest.importorskip("jax")

CHECK = """
parts = np.split(np.asarray(x, "float32"), 2)
np.testing.assert_allclose(np.asarray(out, "float32"), np.tile(sum(parts), (2, 1)), atol=0.05)
assert len(out.devices()) == 2
print("summed")
"""


def python(*words, **options):
    run = [sys.executable, *words]
    done = subprocess.run(run, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_script_sums_over_two_devices():
    chosen = ("lax.psum", "--framework", "jax", "--size", "small", "--max-configs", "1")
    shown = python("-m", "opperf", "show", *chosen)
    script = [line[4:] for line in shown.splitlines() if line.startswith("    ") or not line]
    assert python("-", input="\n".join([*script, CHECK])) == "summed\n"


def test_a_ring_needs_the_devices_that_a_run_gives_it(tmp_path):
    chosen = ("lax.ppermute", "--framework", "jax", "--size", "small", "--runs", "1")
    counted = python("-m", "opperf", "run", *chosen, "-o", str(tmp_path / "run.jsonl"))
    assert "1 record (1 ok)" in counted
