"""A dashboard as a folder of files, which any web server has, and a browser opens without one.

The folder has the page and a folder with all that it loads, of a new name each time: whoever has an
earlier page never loads data of this one."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import msgspec

import opperf
from opperf.errors import OutputError
from opperf.folders import PART
from opperf.history.model import Project
from opperf.history.store import reading
from opperf.history.store.events import read_states
from opperf.history.store.opening import Store
from opperf.history.timelines import Timeline, join_history
from opperf.model import Struct
from opperf.reading import READ_WHOLE, read_bytes
from opperf.results.output import replace, unwritable
from opperf.results.web_page import embedded
from opperf.serving.assets import ASSETS, PUBLISHED, published_page
from opperf.serving.values import (
    Content,
    EventValue,
    ProjectValue,
    RunValue,
    SeriesValue,
    event_value,
    project_value,
    read_content,
    read_latest,
    run_value,
    series_value,
)

PAGE = "index.html"

MARK = b'name="generator" content="opperf history publish"'
"""Part of the page of every publication, by which a later one knows it."""

PARTS = re.compile(rf"publication-[0-9a-f]+|{re.escape(PART)}\w+")
"""Names beside the page: the folder that it loads, and what a publication that broke off left."""

NOT_ASCII = re.compile(r"[^\x00-\x7f]")
"""Characters whose bytes depend on the coding; in JSON they are in strings only."""

BRANCHED = ("latest", "latest_commit")
"""Columns of a series that are of a branch, and in files of their own."""

COUNTED = 1000
"""Runs whose figures are counted at once: a database limits the variables of a query."""

File = tuple[str, bytes]
"""A file's path in its folder, and its content."""


def check_target(folder: Path) -> None:
    """Raises `OutputError` for what is no folder, or has anything but an earlier publication."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise OutputError(f"{folder} is a file; name a folder")
    page = folder / PAGE
    try:
        names = [path.name for path in folder.iterdir()]
        is_own = (
            MARK in read_bytes(page, READ_WHOLE)
            if page.is_file()
            else all(map(PARTS.fullmatch, names))
        )
    except OSError as error:
        raise unwritable(folder, error) from error
    if not is_own:
        raise OutputError(
            f"{folder} is not empty, and no earlier publication; name another folder, or a new one "
            "in it"
        )


def publish(store: Store, projects: Sequence[Project], folder: Path) -> None:
    """Writes projects of a store into a folder, in the place of an earlier publication: the page is
    replaced last, in one step, once all is there that it loads. Other files in it stay. Raises
    `OutputError`."""
    check_target(folder)
    name = f"publication-{time.time_ns():x}"
    now = datetime.now(timezone.utc)
    facts = {"when": f"{now:%Y-%m-%d %H:%M} UTC", "version": opperf.__version__}
    try:
        folder.mkdir(exist_ok=True)
        _write(folder / name, _files(store, projects))
        replace(folder / PAGE, published_page(name, facts))
        for path in folder.iterdir():
            if PARTS.fullmatch(path.name) and path.name != name:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
    except OSError as error:
        raise unwritable(folder, error) from error


def _write(folder: Path, files: Iterable[File]) -> None:
    folder.mkdir()
    try:
        made = set()
        for name, content in files:
            path = folder / name
            if path.parent not in made:
                path.parent.mkdir(parents=True, exist_ok=True)
                made.add(path.parent)
            path.write_bytes(content)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _files(store: Store, projects: Sequence[Project]) -> Iterator[File]:
    for name, asset in (ASSETS | PUBLISHED).items():
        yield name, asset.read()
    values = []
    for index, project in enumerate(projects):
        content = read_content(store, project)
        value = project_value(content)
        values.append(value)
        for write in (_runs, _series, _latest, _figures, _events):
            for name, found in write(store, content, value):
                yield _data(f"p{index}/{name}", found)
    yield _data("projects", {"projects": values})


def _data(name: str, value: Any) -> File:
    """Returns a file of data: a script, in characters that any server's declaration of a coding
    leaves as they are."""
    text = embedded(value)
    plain = NOT_ASCII.sub(lambda found: json.dumps(found[0])[1:-1], text)
    return f"data/{name}.js", f'register("{name}",{plain});\n'.encode()


Named = Iterator[tuple[str, Any]]
"""Files of a project, by name, with their values."""


def _table(kind: type[Struct], items: Iterable[Any], without: Sequence[str] = ()) -> Any:
    fields = [field for field in kind.__struct_fields__ if field not in without]
    return {
        "fields": fields,
        "rows": [[getattr(item, field) for field in fields] for item in items],
    }


def _runs(store: Store, content: Content, project: ProjectValue) -> Named:
    ids = [run.id for run in content.runs]
    count = {}
    for start in range(0, len(ids), COUNTED):
        count.update(reading.count_figures(store, ids[start : start + COUNTED]))
    yield "runs", _table(RunValue, [run_value(run, count[run.id]) for run in content.runs])


def _series(store: Store, content: Content, project: ProjectValue) -> Named:
    items = [series_value(stored, content, None) for stored in content.newest]
    renamed = {number: one.id for number, one in content.series.items() if number != one.id}
    yield "series", {**_table(SeriesValue, items, BRANCHED), "renamed": renamed}


def _latest(store: Store, content: Content, project: ProjectValue) -> Named:
    files = {"all": "", **{f"b{place}": name for place, name in enumerate(project.branches)}}
    for name, branch in files.items():
        found = read_latest(store, content, branch) if content.clean_runs(branch) else {}
        commits = list(dict.fromkeys(commit for _, commit in found.values()))
        place = {commit: index for index, commit in enumerate(commits)}
        figures = {number: [value, place[commit]] for number, (value, commit) in found.items()}
        yield f"latest/{name}", {"commits": commits, "figures": figures}


def _figures(store: Store, content: Content, project: ProjectValue) -> Named:
    """Yields the points of each series, by the places of their runs, and its verdicts."""
    clean = content.clean_runs("")
    place = {run.id: index for index, run in enumerate(content.runs)}
    where = [place[run.id] for run in clean]
    stored = [msgspec.structs.replace(one, id=number) for number, one in content.series.items()]
    history = join_history(clean, stored, reading.read_figures(store, content.project))
    lines = {line.id: line for line in history.timelines}
    for series in content.newest:
        line = lines.get(series.id)
        points = [] if line is None else _points(line, where)
        verdicts = content.evidence.of_key(series.key)
        yield f"series/{series.id}", {"points": points, "verdicts": verdicts}


def _points(line: Timeline, where: Sequence[int]) -> list[tuple[float, ...]]:
    columns = (column.tolist() for column in (line.median, line.low, line.high))
    return list(zip((where[run] for run in line.run.tolist()), *columns, strict=True))


def _events(store: Store, content: Content, project: ProjectValue) -> Named:
    items = [event_value(event, content) for event in content.events]
    states = read_states(store, content.project)
    yield "events", {"events": _table(EventValue, items), "states": states}
