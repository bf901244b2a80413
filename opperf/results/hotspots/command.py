"""The command `report`, from its options to the exit code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from opperf.errors import RunFileError
from opperf.model import Run
from opperf.results.hotspots.data import Hotspots, find_hotspots, timed_of
from opperf.results.hotspots.text import hotspots_markdown, hotspots_text
from opperf.results.hotspots.values import hotspots_csv, hotspots_json
from opperf.results.messages import tell
from opperf.results.output import STDOUT, check_output, write_report
from opperf.results.runfile import read_run
from opperf.results.text import terminal_width

FORMATS: dict[str, Callable[[Hotspots, int | None], str]] = {
    "text": hotspots_text,
    "json": hotspots_json,
    "csv": hotspots_csv,
    "md": hotspots_markdown,
}
"""Functions that write the first operators of a ranking, by the name of the format."""


def report_command(options: Mapping[str, Any]) -> int:
    """Prints the ranking of run files, or writes it, and returns the exit code.

    Raises `OpperfError` for a file without a measured case, and for an output that cannot be
    written.
    """
    files: tuple[Path, ...] = options["files"]
    output: Path = options["output_file"]
    most: int | None = options["top"]
    check_output(output, options["overwrite"], files)
    found = find_hotspots(_read(files), options["rank"], options["by"])
    if output == STDOUT and options["output_format"] == "text":
        text = hotspots_text(found, most, terminal_width())
    else:
        text = FORMATS[options["output_format"]](found, most)
    write_report(output, f"{text}\n")
    return 0


def _read(files: Sequence[Path]) -> list[Run]:
    """Returns the content of run files, and prints warnings about them.

    Raises `RunFileError` for a file that is none, is given twice, or has no measured case.
    """
    runs = []
    for place, path in enumerate(files):
        run, warnings = read_run(path)
        for warning in warnings:
            tell(f"warning: {warning}")
        if any(path.samefile(earlier) for earlier in files[:place]):
            raise RunFileError(f"{path} is named twice; its calls would count twice")
        if not timed_of(run.records):
            raise RunFileError(f"{path}: no case of the run was measured; there is nothing to rank")
        runs.append(run)
    return runs
