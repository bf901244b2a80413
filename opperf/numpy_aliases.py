"""Restores the names that NumPy removed and MXNet uses, before MXNet is imported, and puts off an
import of MXNet's that takes a third of its time.

`install` adds an import finder that acts when MXNet is imported, not when a program checks whether
it is installed. So `import opperf` loads and changes neither NumPy nor MXNet. The module is at the
root of the package, as `import opperf` loads no folder. It imports as little as possible:
`importlib.abc`, the usual base of a finder, imports half of the standard library, or modules of
these names in the working directory.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType

REMOVED = {builtin.__name__: builtin for builtin in (bool, int, float, complex, object, str)}
"""NumPy's removed aliases of builtins."""

NUMPY_BELOW = 2
"""NumPy 2 lacks names and C functions that MXNet uses, and its `np.bool` is another type."""

PYTHON_BELOW = (3, 13)
"""Python 3.12 is the newest with a NumPy below 2."""

NO_DISTUTILS = (3, 12)
"""From this version on Python has no distutils, which MXNet imports; setuptools has it."""


def obstacle(numpy_version: str) -> str:
    """Returns what prevents the import of MXNet, and how to fix it; empty if nothing."""
    major = numpy_version.partition(".")[0]
    # With an unknown version, the import of MXNet itself reports what is wrong.
    if major.isdigit() and int(major) >= NUMPY_BELOW:
        remedy = "pip install 'numpy<2'"
        if sys.version_info >= PYTHON_BELOW:
            remedy = "use Python 3.12 or earlier, which has one"
        return f"needs NumPy below 2, not {numpy_version}: {remedy}"
    if sys.version_info >= NO_DISTUTILS and PathFinder.find_spec("setuptools") is None:
        return "needs distutils, which Python from 3.12 on lacks: pip install setuptools"
    return ""


def restore() -> None:
    """Adds the removed names to NumPy if they are missing.

    Raises `ImportError` if MXNet cannot be imported even with them.
    """
    import numpy

    lacking = obstacle(numpy.__version__)
    if lacking:
        raise ImportError(f"MXNet {lacking}", name="mxnet")
    if sys.version_info >= NO_DISTUTILS:
        import setuptools  # noqa: F401
    with warnings.catch_warnings():
        # `hasattr` for some of these names already warns.
        warnings.simplefilter("ignore", FutureWarning)
        for name, builtin in REMOVED.items():
            if name not in vars(numpy):
                setattr(numpy, name, builtin)


STATISTICS = "scipy.stats"
"""Module that MXNet's quantization imports with MXNet, and uses when a model is calibrated."""


class _LateModule(ModuleType):
    """Stands for a module until one of its names is used."""

    def __getattr__(self, name: str) -> object:
        # What imports and inspection ask every module for.
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(importlib.import_module(self.__name__), name)


class _RestoringLoader(SourceFileLoader):
    """Loads MXNet after restoring the names."""

    def exec_module(self, module: ModuleType) -> None:
        restore()
        late = None
        if STATISTICS not in sys.modules and PathFinder.find_spec("scipy") is not None:
            late = sys.modules[STATISTICS] = _LateModule(STATISTICS)
        try:
            super().exec_module(module)
        finally:
            # Whoever imports them next has the module itself, as have the late one's names.
            if late is not None and sys.modules.get(STATISTICS) is late:
                del sys.modules[STATISTICS]


class _BeforeMXNet:
    """Finds `mxnet` by the other finders, and replaces its loader."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != "mxnet":
            return None
        others = (
            finder
            for finder in sys.meta_path
            if finder is not self and hasattr(finder, "find_spec")
        )
        specs = (finder.find_spec(fullname, path, target) for finder in others)
        spec = next((spec for spec in specs if spec is not None), None)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _RestoringLoader(spec.loader.name, spec.loader.path)
        return spec


def install() -> None:
    """Installs the finder. Calling it again changes nothing."""
    if not any(isinstance(finder, _BeforeMXNet) for finder in sys.meta_path):
        sys.meta_path.insert(0, _BeforeMXNet())
