"""Changes that are accepted, in the project's file, which is reviewed as code is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from opperf.comparison.project_file import (
    NAME,
    PROJECT,
    TABLE,
    Blessing,
    ProjectFile,
    read_project_file,
)
from opperf.history.timelines import Timeline
from opperf.model import Operator
from opperf.reading import read_text
from opperf.results.output import replace
from opperf.sources.selecting import make_matcher

LEAST_SHA = 7
"""Characters of a commit's id that name it in a file: as many as git prints at least."""


def find_blessing(series: Timeline, between: Sequence[str], file: ProjectFile) -> Blessing | None:
    """Returns the entry of the file that accepts a change of a series; None without one. `between`
    are the commits after the last good one up to the first bad one, of which it may name any."""
    operator = Operator(framework="", namespace="", name=series.facts.name)
    for blessing in file.blessed:
        names_commit = len(blessing.commit) >= LEAST_SHA and any(
            sha.startswith(blessing.commit) for sha in between
        )
        if (
            names_commit
            and series.key.case.startswith(blessing.case)
            and blessing.metric in ("", series.key.metric)
            and (not blessing.operator or make_matcher(blessing.operator, [operator])(operator))
        ):
            return blessing
    return None


def add_blessing(path: Path, blessing: Blessing) -> None:
    """Adds an entry to a project's file, made if it is not there, and leaves the rest as it is; an
    entry that is there already is not repeated. Raises `UsageError` for a file that is wrong, and
    `OutputError` if it cannot be written."""
    text = ""
    if path.exists():
        if blessing in read_project_file(path).blessed:
            return
        text = read_text(path)
    table = ".".join((*TABLE, "blessed")) if path.name == PROJECT else "blessed"
    # A basic string of TOML is one of JSON.
    values = {name: getattr(blessing, name) for name in blessing.__struct_fields__}
    lines = [f"{name} = {json.dumps(value)}" for name, value in values.items() if value]
    entry = "\n".join([f"[[{table}]]", *lines])
    gap = "\n" if text and not text.endswith("\n\n") else ""
    ending = "" if not text or text.endswith("\n") else "\n"
    replace(path, f"{text}{ending}{gap}{entry}\n".encode())


def default_file(folder: Path, found: ProjectFile) -> Path:
    """Returns the file that a new entry is for: that which was found, else one in the folder."""
    return found.path or folder / NAME
