"""Starts a module of this package in a process of its own: `python launch.py MODULE ARGUMENT...`.

The child imports this very package, wherever it lies, and nothing of the working directory: a
user's `random.py` there is none of its business. Neither `-m` nor `-c` can do that on Python 3.10,
and a folder on PYTHONPATH would bring what lies beside the package too, another framework for one.
Nothing is imported before the path is right.
"""

import sys

# The folder of this file, which Python has put first.
if not getattr(sys.flags, "safe_path", False):
    del sys.path[0]

import importlib.util  # noqa: E402
import runpy  # noqa: E402
from pathlib import Path  # noqa: E402

PACKAGE = Path(__file__).parents[1]


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
    import_package()
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
