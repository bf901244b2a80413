"""PyTorch's traces of a piece of work: that of its profiler, and its execution trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

import torch
from torch.profiler import ExecutionTraceObserver

Label = Callable[[str], AbstractContextManager[object]]
"""Returns a context that names its work in the traces."""


@contextmanager
def tracing(chrome: Path | None, execution: Path | None) -> Iterator[Label]:
    """Traces the work inside, and writes the traces to these files, those without a path not."""
    with ExitStack() as stack:
        if execution is not None:
            stack.enter_context(_execution_trace(execution))
        profiler = stack.enter_context(torch.profiler.profile()) if chrome is not None else None
        yield torch.profiler.record_function
    if profiler is not None:
        profiler.export_chrome_trace(str(chrome))


@contextmanager
def _execution_trace(path: Path) -> Iterator[None]:
    observer = ExecutionTraceObserver()
    observer.register_callback(str(path))
    observer.start()
    try:
        yield
    finally:
        observer.stop()
        observer.unregister_callback()
