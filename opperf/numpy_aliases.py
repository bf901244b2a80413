"""Restores the names NumPy removed that MXNet still uses, before MXNet is imported.

MXNet 1.x and 2.0 betas use `np.bool`, `np.object` and the like at import time. NumPy 1.24
removed them. `install` puts a finder in front of the import system that adds the names the
moment `mxnet` is about to be imported, so that `import opperf` itself loads neither NumPy
nor MXNet. Nothing else in the package knows of this.

It imports as little as it can, for `import opperf` does: `importlib.abc`, of which the finder could
be made, imports half of the standard library, or what lies under its names in a working directory.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
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


def restore() -> None:
    """Add the removed names to NumPy, where they are missing."""
    # MXNet needs distutils, which Python 3.12 no longer has; setuptools brings it.
    if sys.version_info >= (3, 12):
        import setuptools  # noqa: F401
    import numpy

    with warnings.catch_warnings():
        # numpy.__getattr__ warns for some of these names even when only asked about.
        warnings.simplefilter("ignore", FutureWarning)
        for name, builtin in REMOVED.items():
            if name not in vars(numpy):
                setattr(numpy, name, builtin)


class _BeforeMXNet:
    """Finds nothing; only notices that `mxnet` is about to be imported."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname == "mxnet":
            restore()
        return None


def install() -> None:
    """Have the names restored when `mxnet` is imported. Calling it again changes nothing."""
    if not any(isinstance(finder, _BeforeMXNet) for finder in sys.meta_path):
        sys.meta_path.insert(0, _BeforeMXNet())
