"""The file or folder with problems of kernels that a request names, and their sizes."""

from __future__ import annotations

from collections.abc import Set
from pathlib import Path
from typing import Annotated

from opperf.errors import UsageError
from opperf.requests.declaring import Option, Request, declared
from opperf.requests.parsers import parse_labels

Sets = Annotated[
    dict[str, str],
    Option(
        "With a FOLDER of problems: another value of a constant or size, as M=64; precision=bf16 "
        "of KernelBench's. Repeat it for several.",
        gather=parse_labels,
        metavar="NAME=VALUE",
        section="Cases",
        spellings="--set",
    ),
]


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
