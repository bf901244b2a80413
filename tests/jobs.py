"""The folder of a CI's job, as pages of the documentation assume it: a repository with a flat
package, which is installed in environments of its own."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

PACKAGE = "my_package"

KERNEL = "def gelu(x):\n    return x * x\n"

INPUTS = """
import numpy as np


def gelu():
    return {"x": np.ones(4096, np.float32)}
"""


def git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=me", "-c", "user.email=me@example.org")
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


def make_job(folder: Path, environments: Iterable[str] = ()) -> None:
    """Makes the repository, the inputs of its function, and environments that have it, with all
    packages of this one besides."""
    git(folder, "init", "--quiet", "--initial-branch=main")
    (folder / "benchmarks").mkdir()
    (folder / "benchmarks" / "inputs.py").write_text(INPUTS)
    (folder / "touched.txt").write_text("relu\n")
    write_package(folder)
    git(folder, "add", PACKAGE, "benchmarks")
    git(folder, "commit", "--quiet", "-m", "A package")
    for name in environments:
        write_package(make_environment(folder / name))


def make_environment(folder: Path) -> Path:
    """Makes an environment, and returns the folder of its packages."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    version = "python{}.{}".format(*sys.version_info)
    packages = folder / "lib" / version / "site-packages"
    (packages / "frameworks.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    return packages


def write_package(folder: Path, kernel: str = KERNEL) -> None:
    """Writes the package into a folder."""
    package = folder / PACKAGE
    package.mkdir(exist_ok=True)
    (package / "__init__.py").write_text("")
    (package / "kernels.py").write_text(kernel)
