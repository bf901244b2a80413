"""`opperf.record`: a recording of a part of a Python program."""

from __future__ import annotations

import os
import sys
from contextlib import AbstractContextManager
from pathlib import Path

from opperf.errors import UsageError
from opperf.recording.session import step
from opperf.recording.steps import StepRange, read_steps
from opperf.requests.record import RecordRequest

__all__ = ["record", "step"]


def record(
    file: str | os.PathLike[str],
    *,
    timed: bool = False,
    steps: str | range | None = None,
    execution_trace: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
) -> AbstractContextManager[None]:
    """Records the calls of operators inside the context, those of PyTorch, MXNet and JAX, as
    `opperf record` does those of a program.

    Parameters
    ----------
    file : str or path
        The recording, a run file ('model.jsonl'), which `opperf.run` and `opperf.read` take. It is
        written at the end, after an exception too.
    timed : bool
        Whether to keep the time of each call, for which a GPU is waited for.
    steps : str or range, optional
        The steps to record, counted from 0: '10:20' are those from 10 up to 19. A step ends with
        the step of the first optimizer, or at `opperf.step()`. By default all is recorded.
    execution_trace : str or path, optional
        A file for PyTorch's execution trace of what is recorded.
    overwrite : bool
        Whether to replace the files if they exist.

    Raises
    ------
    OpperfError
        At the beginning for a file that exists or cannot be written, and where a recording is being
        made already; at the end if there was no call to record.
    """
    request = RecordRequest(
        output_file=Path(file),
        timed=timed,
        steps=_range_of(steps),
        trace=None if execution_trace is None else Path(execution_trace),
        overwrite=overwrite,
    )
    return request.recorded(" ".join(sys.argv) or "python")


def _range_of(steps: str | range | None) -> StepRange | None:
    """Returns the range of steps. Raises `UsageError` for one with gaps."""
    if isinstance(steps, range):
        if steps.step != 1:
            raise UsageError(f"{steps} leaves steps out; record those from one to another")
        return read_steps(f"{steps.start}:{steps.stop}")
    return None if steps is None else read_steps(steps)
