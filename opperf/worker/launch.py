"""Starts a module of this package in a process of its own: `python launch.py MODULE ARGUMENT...`.

The child imports this package from its own folder, and nothing from the working directory, where a
user's `random.py` could be. Neither `-m` nor `-c` can do that on Python 3.10, and PYTHONPATH would
add everything beside the package, such as another framework. Nothing is imported before the path is
right.
"""

import sys

# The folder of this file, which Python has put first where it is the program.
if __name__ == "__main__" and not getattr(sys.flags, "safe_path", False):
    del sys.path[0]

import contextlib  # noqa: E402
import importlib.util  # noqa: E402
import os  # noqa: E402
import runpy  # noqa: E402
from importlib.machinery import ModuleSpec, PathFinder  # noqa: E402
from pathlib import Path  # noqa: E402

PACKAGE = Path(__file__).parents[1]

FALLBACK_PACKAGES = "OPPERF_FALLBACK_PACKAGES"
"""Variable with the starting process's version of Python and the folders of its packages."""

PINNED_CPUS = "OPPERF_PINNED_CPUS"
"""Environment variable with the cores that the process is pinned to, separated by commas."""

BASE = ("msgspec", "numpy", "psutil", "scipy")
"""Packages that a worker needs besides its framework."""


class FallbackFinder:
    """Finds packages of `BASE` that this environment lacks in the starting process's; they are
    compiled, so both need the same version of Python."""

    finds_fallback_packages = True

    def __init__(self, folders: "list[str]") -> None:
        self._folders = folders

    def find_spec(self, name: str, path: object, target: object = None) -> "ModuleSpec | None":
        if path is not None or name not in BASE:
            return None
        return PathFinder.find_spec(name, self._folders)


def install_fallback_finder() -> None:
    """Makes imports of missing base packages find the starting process's."""
    version, *folders = os.environ.get(FALLBACK_PACKAGES, "").split(os.pathsep)
    if version == "{}.{}".format(*sys.version_info):
        sys.meta_path.append(FallbackFinder(folders))


def pin_process() -> None:
    """Pins this process before any import, as OpenMP counts its cores when it is loaded."""
    cpus = os.environ.pop(PINNED_CPUS, "")
    if cpus:
        # A control group may have lost them; the environment then shows others.
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, map(int, cpus.split(",")))


def import_package() -> None:
    """Imports the package of this file from its own folder."""
    spec = importlib.util.spec_from_file_location(
        PACKAGE.name, PACKAGE / "__init__.py", submodule_search_locations=[str(PACKAGE)]
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[PACKAGE.name] = module
    spec.loader.exec_module(module)


if __name__ == "__main__":
    del sys.argv[0]
    pin_process()
    install_fallback_finder()
    try:
        import_package()
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    except ModuleNotFoundError as error:
        if error.name not in BASE:
            raise
        sys.exit(
            f"{sys.executable} has no {error.name}: "
            f"{sys.executable} -m pip install {' '.join(BASE)}"
        )
