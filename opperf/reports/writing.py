"""Writes runs and reports to files and to a terminal, and a run file in another format: `opperf
export`, and `opperf.export(path, "bencher")`."""

from __future__ import annotations

import os
import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from opperf.errors import OutputError, RunFileError, UsageError, unknown
from opperf.folders import part_folder
from opperf.model import Run, Status
from opperf.reports.formats import DRAWN, RUN, TEXT, format_named, formats_of, function_of, json_of
from opperf.reports.model import Report, Test
from opperf.reports.text import GAP
from opperf.results.columns import rows_text
from opperf.results.lines import encode_lines
from opperf.results.opperf_json import ids_by_operator, meanings
from opperf.results.output import STDOUT, Output, replace_all, sidecar, unwritable, write_report
from opperf.results.run_files import locate
from opperf.results.runfile import lines_of, read_run
from opperf.results.text import terminal_width
from opperf.results.web_page import xml_text


def write(
    run: Run, path: Path, format: str, columns: Sequence[str] = (), streams: Path | None = None
) -> list[str]:
    """Writes the run, and a sidecar if the format has one: both or, with an `OutputError`, neither.
    Standard output has no sidecar. `columns` are the names of those of a table, `streams` is the
    folder of what its programs wrote, for a format that is a folder. Returns what the format has no
    place for, a line each. Raises `UsageError` for an unknown format."""
    chosen = format_named(format, RUN)
    if chosen.folder is not None:
        write_folder(path, function_of(chosen.folder)(run, streams))
        return []
    text, missing = chosen.write_run(run, columns)
    if path == STDOUT:
        print(text, end="")
        return missing
    files = {}
    if chosen.environment is not None:
        beside = msgspec.json.encode(function_of(chosen.environment)(run, path))
        files[sidecar(path)] = msgspec.json.format(beside, indent=4) + b"\n"
    replace_all({**files, path: text.encode()})
    return missing


def check_folder(path: Path) -> None:
    """Raises `OpperfError` for a folder that could not be made later."""
    if path == STDOUT:
        raise UsageError("this format is a folder of files; name one with -o")
    if path.exists():
        raise OutputError(f"{path} exists; name another folder, or remove it")


def write_folder(path: Path, files: Mapping[str, bytes]) -> None:
    """Writes a folder of files, by their paths in it, all or none. Raises `OutputError` if it is
    there already."""
    check_folder(path)
    try:
        with part_folder(path.parent) as part:
            made = part / path.name
            made.mkdir()
            for name, content in files.items():
                (made / name).parent.mkdir(parents=True, exist_ok=True)
                (made / name).write_bytes(content)
            made.rename(path)
    except OSError as error:
        raise unwritable(path, error) from error


def runfile_text(run: Run, names: Sequence[str] = ()) -> str:
    """Returns the run as a run file, for an output that is not the run file itself."""
    return encode_lines(*lines_of(run)).decode()


def environment_of(run: Run, path: Path) -> dict[str, Any]:
    """Returns the header and environments of a run, for the sidecar of `path`."""
    header = run.header
    environment, *others = map(msgspec.to_builtins, run.environments.values())
    return {
        "output": path.name,
        "started": header.started,
        "environment": environment,
        **({"other_environments": others} if others else {}),
        **({"labels": header.labels} if header.labels else {}),
        "options": header.options,
        "excluded": header.excluded,
    }


def environment_and_unmeasured(run: Run, path: Path) -> dict[str, Any]:
    """Returns the same with ids, meanings of keys, and records without results."""
    unmeasured = [
        {
            "operator": record.case.label,
            "id": record.id,
            "status": record.status.value,
            "reason": record.reason,
        }
        for record in run.records
        if record.status is not Status.OK
    ]
    return environment_of(run, path) | {
        "ids": ids_by_operator(run.records),
        "figures": meanings(run.records),
        "not_measured": unmeasured,
    }


def write_json(report: Report, width: int | None = None) -> str:
    """Returns the report as one JSON object, which always has every key."""
    return json_of(report.data)


def write_csv(report: Report, width: int | None = None) -> str:
    """Returns the rows with a header; a missing value is an empty cell."""
    return rows_text([report.header, *report.rows])


DECLARATION = "<?xml version='1.0' encoding='utf-8'?>"
"""A constant, as the library would name the locale's encoding."""


def write_junit(report: Report, width: int | None = None) -> str:
    """Returns the document."""
    listed = report.tests or _tests_of_rows(report)
    suite = ET.Element("testsuite", name=f"opperf {report.command}")
    # Histories go by class and name, so that an id stands only where both are shared.
    numbers = Counter((case.operator, case.name) for case in listed)
    for case in listed:
        is_shared = numbers[case.operator, case.name] > 1
        name = f"{case.name} {case.id}" if is_shared else case.name
        test = ET.SubElement(
            suite, "testcase", classname=xml_text(case.operator), name=xml_text(name)
        )
        _add_result(test, case)
    suite.set("tests", str(len(listed)))
    for counted, result in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(counted, str(len(suite.findall(f"testcase/{result}"))))
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    return f"{DECLARATION}\n{ET.tostring(root, encoding='unicode')}\n"


def _tests_of_rows(report: Report) -> list[Test]:
    """Returns a test for each row, which passes: nothing is judged."""
    return [
        Test(
            report.command,
            str(row[0]),
            str(number),
            "system-out",
            ", ".join(f"{key}: {one}" for key, one in zip(report.header, row, strict=True)),
        )
        for number, row in enumerate(report.rows, 1)
    ]


def _add_result(test: ET.Element, case: Test) -> None:
    message = xml_text(case.message)
    if case.result == "system-out":
        ET.SubElement(test, "system-out").text = message
    elif case.kind:
        ET.SubElement(test, case.result, type=case.kind, message=message)
    else:
        ET.SubElement(test, case.result, message=message)


STYLES = {"worse": "bold yellow", "better": "green", "open": "dim"}
"""Styles of a terminal, by the tone of a cell."""


def write_reports(report: Report, outputs: Iterable[Output]) -> None:
    """Writes a report to each output, or prints it. Raises `OutputError`."""
    for path, name in outputs:
        width = terminal_width() if path == STDOUT else None
        text = format_named(name, DRAWN).write_report(report, width)
        if width is not None and name == TEXT:
            _print_coloured(text, report)
        else:
            write_report(path, text)


def _print_coloured(text: str, report: Report) -> None:
    """Prints a report to a terminal, with the words that have a tone in colour."""
    cells = (
        cell
        for section in report.sections
        if section.table is not None
        for column in section.table.columns
        for cell in column.cells
    )
    styles = {str(cell.value): STYLES[cell.tone] for cell in cells if cell.tone}
    if not styles:
        print(text, end="")
        return
    # Costs some 50 ms to import, and only a terminal shows it.
    from rich.console import Console
    from rich.text import Text

    coloured = Text(text)
    for word, style in styles.items():
        # Words are between gaps only in tables.
        pattern = rf"(?m)(?<= {{{GAP}}}){re.escape(word)}(?= {{{GAP}}}|$)"
        coloured.highlight_regex(pattern, style)
    Console(highlight=False).print(coloured, soft_wrap=True, end="")


@dataclass(frozen=True)
class _Export:
    """The content of a tool's file, which prints as its JSON."""

    content: Any
    warnings: tuple[str, ...]
    """Exclusions, and doubts about the run file, a line each."""

    def __str__(self) -> str:
        return json_of(self.content).rstrip("\n")


def export(run_file: str | os.PathLike[str], to: str) -> _Export:
    """Returns a run file, or a kept run such as '@last', in the format of another benchmark tool:
    'pytest-benchmark', 'bencher', 'github-action-benchmark', 'hyperfine' or 'perfetto'. Raises
    `UsageError` for another tool, and `RunFileError` for a file that cannot be exported."""
    tools = {name: format for name, format in formats_of(RUN).items() if format.values is not None}
    if to not in tools:
        raise unknown("tool", to, tools)
    path = locate(os.fspath(run_file))
    run, warnings = read_run(path)
    check_exported(path, run)
    try:
        content, excluded = function_of(tools[to].values)(run)
    except RunFileError as error:
        raise RunFileError(f"{path}: {error}") from error
    return _Export(content, (*warnings, *(f"{path}: {what}" for what in excluded)))


def check_exported(path: Path, run: Run) -> None:
    """Raises `RunFileError` for a run without a record."""
    if not run.records:
        raise RunFileError(f"{path}: the run has no record yet; there is nothing to export")
