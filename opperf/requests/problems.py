"""The file or folder with problems of kernels that a request names."""

from __future__ import annotations

from collections.abc import Set
from pathlib import Path

from opperf.errors import UsageError
from opperf.requests.declaring import Request, declared


def path_of_problems(request: Request, names: tuple[str, ...], allowed: Set[str]) -> Path | None:
    """Returns the file or folder; None of operators. Raises `UsageError` for a second name, and for
    fields that are set and not among those that apply."""
    path = next((Path(name) for name in names if name and Path(name).exists()), None)
    if path is None:
        return None
    from opperf.candidates.formats.known import format_of

    if not format_of(path):
        return None
    for name, field in declared(type(request)).items():
        if name in request.given - allowed or len(names) > 1:
            what = "a second name" if len(names) > 1 else field.shown
            raise UsageError(
                f"{what} does not apply to {path}, which has problems of kernels; omit it"
            )
    return path
