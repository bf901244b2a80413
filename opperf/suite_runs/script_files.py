"""The files of a bench that is a script: itself, and the instruments of voir."""

from __future__ import annotations

import os
from pathlib import Path

from opperf.model.base import digest
from opperf.reading import read_text
from opperf.suites.bench import Bench

SCRIPT = "main.py"
"""The script of a bench that is a folder."""

VOIRFILE = "voirfile.py"
VOIRFILE_VARIABLE = "VOIRFILE"
"""Environment variable of voir: paths, separated by blanks."""


def script_version(bench: Bench) -> str:
    """Returns a hash of a bench's script and of voir's instruments beside it."""
    script = script_of(bench)
    files = (script, *voirfiles_of(script))
    return digest([read_text(file, errors="replace") for file in files if file.is_file()])


def voirfiles_of(script: Path) -> list[Path]:
    """Returns the files of voir's instruments for a script: those of the variable `VOIRFILE`, or
    its own one and those of its folder and of the folders above, as voir has them."""
    given = os.environ.get(VOIRFILE_VARIABLE)
    if given is not None:
        return [Path(file) for file in given.split()]
    own = script.with_name(f"{script.stem}.{VOIRFILE}")
    folders = script.resolve().parents
    return [file for file in (own, *(each / VOIRFILE for each in folders)) if file.is_file()]


def script_of(bench: Bench) -> Path:
    """Returns the path of a bench's script, whether it is there or not."""
    path = Path(bench.content[0])
    return path / SCRIPT if path.is_dir() else path
