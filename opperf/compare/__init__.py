"""What changed: between two files of results, and between two arms measured in turns.

The package itself can be called, `opperf.compare(base, new)`: a function of that name in `opperf`
would be replaced by this package when a part of it is imported.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opperf.compare.files.program import FileComparison


class _Callable(ModuleType):
    def __call__(self, *files: Any, **options: Any) -> FileComparison:
        """Compares two files of results: `opperf.compare.files.program.compare_files`."""
        from opperf.compare.files.program import compare_files

        return compare_files(*files, **options)


sys.modules[__name__].__class__ = _Callable
