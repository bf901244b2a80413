"""Runs a short benchmark of the framework that this environment has, and saves its table.

    python tools/short_benchmark.py

`make run` ends with it. Where MXNet is not installed, a line says what is measured in its place,
and how to get MXNet.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

from opperf.frameworks import default_framework, package_of
from opperf.frameworks.installed import package_version

OPERATORS = {
    "mxnet": ("relu", "broadcast_add", "dot", "Convolution", "softmax"),
    "torch": ("relu", "add", "mm", "conv2d", "softmax"),
    "jax": ("nn.relu", "jnp.add", "jnp.matmul", "nn.softmax", "jnp.sum"),
    "numpy": ("maximum", "add", "matmul", "exp", "sum"),
}
"""Operators that most users know, by framework."""

OPTIONS = ("--size", "small", "--warmup", "5", "--runs", "20", "--overwrite", "-f", "md")

TABLE = "benchmark.md"

REMEDIES = (
    "for MXNet: make run PYTHON=python3.12 (your system's, or `uv python install 3.12` and "
    "PYTHON=$(uv python find 3.12)), or the Containerfile; for PyTorch: make run TORCH=torch"
)


def choice(framework: str) -> str:
    """Returns why this framework is measured and not MXNet, and what to do; empty if it is."""
    if framework == "mxnet":
        return ""
    package = package_of(framework)
    assert package is not None
    found = f"{framework} {package_version(package.name)}"
    running = ".".join(map(str, sys.version_info[:2]))
    mxnet = package_of("mxnet")
    assert mxnet is not None
    why = f"MXNet is not installed on this Python {running}"
    if mxnet.below_python and sys.version_info >= mxnet.below_python:
        why = f"MXNet needs Python below {'.'.join(map(str, mxnet.below_python))}, not {running}"
    return f"{why}: measured is {found}; {REMEDIES}"


def main() -> int:
    """Measures; returns opperf's exit code."""
    framework = default_framework()
    said = choice(framework)
    if said:
        print(said, file=sys.stderr)
    command = [str(Path(sys.executable).parent / "opperf"), "run", *OPERATORS[framework]]
    command += [*OPTIONS, "-o", TABLE]
    print(shlex.join([".venv/bin/opperf", *command[1:]]), flush=True)
    return subprocess.run(command).returncode


if __name__ == "__main__":
    sys.exit(main())
