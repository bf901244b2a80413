"""Starts a module of this package in a process of its own: `python launch.py MODULE ARGUMENT...`.

The child imports this very package, wherever it lies, and nothing of the working directory: a
user's `random.py` there is none of its business. Neither `-m` nor `-c` can do that on Python 3.10,
and a folder on PYTHONPATH would bring what lies beside the package too, another framework for one.
Nothing is imported before the path is right.
"""

import sys

# The folder of this file, which Python has put first where it is the program.
if __name__ == "__main__" and not getattr(sys.flags, "safe_path", False):
    del sys.path[0]

import importlib.util  # noqa: E402
import os  # noqa: E402
import runpy  # noqa: E402
from importlib.machinery import ModuleSpec, PathFinder  # noqa: E402
from pathlib import Path  # noqa: E402

PACKAGE = Path(__file__).parents[1]

FALLBACK_PACKAGES = "OPPERF_FALLBACK_PACKAGES"
"""Variable with the Python version of the process that starts another interpreter, and the folders
of its packages, all separated as in PATH."""

BASE = ("msgspec", "numpy", "psutil", "scipy")
"""Packages that a worker needs beside its framework."""


class FallbackFinder:
    """Finds the packages of `BASE` that this environment lacks in the starting process's. They have
    compiled parts, and fit the same version of Python only."""

    finds_fallback_packages = True

    def __init__(self, folders: "list[str]") -> None:
        self._folders = folders

    def find_spec(self, name: str, path: object, target: object = None) -> "ModuleSpec | None":
        if path is not None or name not in BASE:
            return None
        return PathFinder.find_spec(name, self._folders)


def install_fallback_finder() -> None:
    """Let imports of base packages that are missing here find the starting process's."""
    version, *folders = os.environ.get(FALLBACK_PACKAGES, "").split(os.pathsep)
    if version == "{}.{}".format(*sys.version_info):
        sys.meta_path.append(FallbackFinder(folders))


def import_package() -> None:
    """Import the package this file is part of, under its name, from where it lies."""
    spec = importlib.util.spec_from_file_location(
        PACKAGE.name, PACKAGE / "__init__.py", submodule_search_locations=[str(PACKAGE)]
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[PACKAGE.name] = module
    spec.loader.exec_module(module)


if __name__ == "__main__":
    del sys.argv[0]
    install_fallback_finder()
    try:
        import_package()
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    except ModuleNotFoundError as error:
        if error.name not in BASE:
            raise
        sys.exit(f"{sys.executable} has no {error.name}: {sys.executable} -m pip install opperf")
