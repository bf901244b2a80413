"""Restores the names NumPy removed that MXNet still uses, before MXNet is imported.

MXNet 1.x and 2.0 betas use `np.bool`, `np.object` and the like at import time. NumPy 1.24
removed them. `install` puts a finder in front of the import system that does nothing for any other
package; MXNet's loader adds the names when MXNet is really imported, and not when a program only
asks whether it is there. So `import opperf` itself loads neither NumPy nor MXNet, and changes
neither. It is a compatibility module of MXNet's at the root of the package, and not in a folder of
MXNet's, because `import opperf` may load no more than it.

It imports as little as it can, for `import opperf` does: `importlib.abc`, of which the finder could
be made, imports half of the standard library, or what lies under its names in a working directory.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType

REMOVED = {
    "bool": bool,
    "int": int,
    "float": float,
    "complex": complex,
    "object": object,
    "str": str,
}
"""NumPy's removed aliases and the builtins they stood for."""

NUMPY_BELOW = 2
"""NumPy 2 has no C names and functions that MXNet was written and built for, and `np.bool` is
another type there."""

PYTHON_BELOW = (3, 13)
"""The newest Python that a NumPy below 2 was built for is 3.12."""

NO_DISTUTILS = (3, 12)
"""Python from this version on has no distutils, which MXNet imports; setuptools brings it."""


def obstacle(numpy_version: str) -> str:
    """What MXNet lacks in this Python, and what to do about it; empty if nothing."""
    major = numpy_version.partition(".")[0]
    # A version that is not known is no obstacle; MXNet's own import then says what is wrong.
    if major.isdigit() and int(major) >= NUMPY_BELOW:
        remedy = "pip install 'numpy<2'"
        if sys.version_info >= PYTHON_BELOW:
            remedy = "use Python 3.12 or earlier, which has one"
        return f"needs NumPy below 2, not {numpy_version}: {remedy}"
    if sys.version_info >= NO_DISTUTILS and PathFinder.find_spec("setuptools") is None:
        return "needs distutils, which Python from 3.12 on lacks: pip install setuptools"
    return ""


def restore() -> None:
    """Add the removed names to NumPy, where they are missing.

    Raises `ImportError` where MXNet cannot be imported whatever names there are.
    """
    import numpy

    lacking = obstacle(numpy.__version__)
    if lacking:
        raise ImportError(f"MXNet {lacking}", name="mxnet")
    if sys.version_info >= NO_DISTUTILS:
        import setuptools  # noqa: F401
    with warnings.catch_warnings():
        # numpy.__getattr__ warns for some of these names even when only asked about.
        warnings.simplefilter("ignore", FutureWarning)
        for name, builtin in REMOVED.items():
            if name not in vars(numpy):
                setattr(numpy, name, builtin)


class _RestoringLoader(SourceFileLoader):
    """Loads MXNet once the names are there."""

    def exec_module(self, module: ModuleType) -> None:
        restore()
        super().exec_module(module)


class _BeforeMXNet:
    """Finds `mxnet` where the other finders do, to be loaded with the names restored."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != "mxnet":
            return None
        others = (one for one in sys.meta_path if one is not self and hasattr(one, "find_spec"))
        specs = (finder.find_spec(fullname, path, target) for finder in others)
        spec = next((one for one in specs if one is not None), None)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _RestoringLoader(spec.loader.name, spec.loader.path)
        return spec


def install() -> None:
    """Have the names restored when `mxnet` is imported. Calling it again changes nothing."""
    if not any(isinstance(finder, _BeforeMXNet) for finder in sys.meta_path):
        sys.meta_path.insert(0, _BeforeMXNet())
