"""Parts of a process that a call may leave changed for those after it."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple


class ProcessPart(NamedTuple):
    """A part of a process: how it is read, compared and restored."""

    left: str
    """Says what a call has left that changed it: `the working directory changed`."""
    read: Callable[[], Any]
    restore: Callable[[Any], object] | None = None
    """Is given what was read before; None if only another process has it as it was."""
    is_changed: Callable[[Any, Any], bool] = operator.ne
    """Is given what was read before, and what is read now."""
    is_set_up: bool = False
    """Whether a module may set it for all that it has, when it is imported, and a framework when it
    is first used: such a change stays."""
    compiler_adds: bool = False
    """Whether a compiler changes it for itself: it starts processes that compile for it."""
