"""Runs mypy, without what it cannot know where PyTorch or JAX is not installed.

    python tools/check_types.py

`make lint` runs it in an environment that may have neither: all that is of them is then of any
type. After `make test`, as in CI, it is mypy alone, with all that it checks.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys

TYPED = ("torch", "jax")
"""Frameworks with types of their own."""

OF_ANY_TYPE = (
    "--disable-error-code=import-not-found",
    "--disable-error-code=no-any-return",
    "--allow-subclassing-any",
    "--no-warn-unused-ignores",
)
"""Options for a package whose objects are of any type."""


def main() -> int:
    """Checks; returns mypy's exit code."""
    absent = [name for name in TYPED if importlib.util.find_spec(name) is None]
    if absent:
        print(
            f"without {' and '.join(absent)}: their objects are of any type; `make test` adds them"
        )
    command = [sys.executable, "-m", "mypy", *(OF_ANY_TYPE if absent else ())]
    return subprocess.run(command).returncode


if __name__ == "__main__":
    sys.exit(main())
