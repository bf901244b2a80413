"""The formats of outputs, each declared once: what opperf writes, and what other packages add
through the entry-point group `opperf.formats`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from opperf.errors import UsageError, unknown

if TYPE_CHECKING:
    from pathlib import Path

    from opperf.model import Run
    from opperf.reports.model import Report

GROUP = "opperf.formats"

RunWriter = Callable[["Run", Sequence[str]], str]
FolderWriter = Callable[["Run", "Path | None"], "dict[str, bytes]"]
RunValues = Callable[["Run"], tuple[Any, list[str]]]
ReportWriter = Callable[["Report", "int | None"], str]

RUN = "run"
"""Files of runs, as `opperf run` and `opperf export` write them."""

SESSION = "session"
"""Files of sessions of `opperf ab`."""

REPORT = "report"
"""Reports of commands."""

TEXT = "text"
"""The format of terminals."""

DRAWN = "drawn report"
"""Reports that have a flame graph."""


class Format(NamedTuple):
    """A format: what it writes, by functions or their names `module:function`."""

    name: str
    extension: str
    """With its point: `.md`."""
    description: str = ""
    """For lists of formats, in a few words."""
    run: RunWriter | str | None = None
    """Returns the text of a run, of figures of these columns, or else of the usual ones."""
    values: RunValues | str | None = None
    """Returns a run as values of JSON, in the place of `run`, and what the format has no place
    for, a line each."""
    folder: FolderWriter | str | None = None
    """Returns the files of a run that is a folder by name, in the place of `run`; its second
    argument is the folder of its programs' streams, if any."""
    report: ReportWriter | str | None = None
    """Returns the text of a report, for a terminal of some width, or with None for a file."""
    drawing: ReportWriter | str | None = None
    """Returns the flame graph of a report, in the place of `report`."""
    is_of_sessions: bool = False
    has_sections: bool = True
    """Whether it writes all sections of a report, or the rows of figures alone."""
    environment: Callable[..., dict[str, Any]] | str | None = None
    """Returns the content of a file beside the output, for what the format has no place."""
    other_extensions: tuple[str, ...] = ()
    has_columns: bool = False
    by_extension: bool = True
    """Whether the extension of an output means it; else another format has the extension."""

    @property
    def extensions(self) -> tuple[str, ...]:
        return self.extension, *self.other_extensions

    def writes(self, what: str) -> bool:
        """Returns whether it writes `RUN`, `SESSION`, `REPORT` or `DRAWN`."""
        if what == SESSION:
            return self.is_of_sessions
        writers = {
            RUN: (self.run, self.values, self.folder),
            REPORT: (self.report,),
            DRAWN: (self.report, self.drawing),
        }
        return any(writer is not None for writer in writers[what])

    def write_run(self, run: Run, columns: Sequence[str] = ()) -> tuple[str, list[str]]:
        """Returns the text of a run, and what the format has no place for, a line each."""
        if self.values is None:
            return function_of(self.run)(run, columns), []
        content, missing = function_of(self.values)(run)
        return json_of(content), missing

    def write_report(self, report: Report, width: int | None = None) -> str:
        text: str = function_of(self.report or self.drawing)(report, width)
        return text


def json_of(content: Any) -> str:
    """Returns values as JSON for readers."""
    import msgspec

    return msgspec.json.format(msgspec.json.encode(content), indent=2).decode() + "\n"


def _exported(module: str) -> Callable[[Run], tuple[Any, list[str]]]:
    """Returns the writer of a run by that of exports in a module of formats."""

    def write(run: Run) -> tuple[Any, list[str]]:
        from opperf.formats.exporting import export_of

        content, missing = import_module(f"opperf.formats.{module}").write(export_of(run))
        return content, missing

    return write


def function_of(named: Callable[..., Any] | str | None) -> Callable[..., Any]:
    """Returns a function, or that of a name `module:function`."""
    if isinstance(named, str):
        module, _, name = named.partition(":")
        found: Callable[..., Any] = getattr(import_module(module), name)
        return found
    assert named is not None
    return named


BUILT_IN = (
    Format(
        "text",
        ".txt",
        "tables for a terminal, as wide as it is",
        report="opperf.reports.text:write_text",
    ),
    Format(
        "json",
        ".json",
        "values with all digits, for programs; of a run by operator",
        run="opperf.results.opperf_json:json_text",
        environment="opperf.reports.writing:environment_and_unmeasured",
        report="opperf.reports.writing:write_json",
    ),
    Format(
        "md",
        ".md",
        "tables for a comment, a wiki or a repository",
        run="opperf.reports.run_page:markdown_text",
        report="opperf.reports.markdown:write_markdown",
        other_extensions=(".markdown",),
        has_columns=True,
    ),
    Format(
        "csv",
        ".csv",
        "a row for each record or figure, with every digit",
        run="opperf.results.columns:csv_text",
        environment="opperf.reports.writing:environment_of",
        report="opperf.reports.writing:write_csv",
        has_sections=False,
    ),
    Format(
        "jsonl",
        ".jsonl",
        "the run file: every record with all its samples",
        run="opperf.reports.writing:runfile_text",
        is_of_sessions=True,
    ),
    Format(
        "param",
        ".json",
        "lines like those of PARAM's benchmarks",
        run="opperf.formats.param.lines:param_text",
        by_extension=False,
    ),
    Format(
        "instruction-counts",
        ".json",
        "counts like those of PyTorch's instruction-count benchmarks",
        run="opperf.formats.instruction_counts:instruction_counts_text",
        by_extension=False,
    ),
    Format(
        "milabench",
        ".milabench",
        "a folder of events like those of milabench",
        folder="opperf.formats.milabench.writing:files_of",
    ),
    Format(
        "xla",
        ".jsonl",
        "lines like those of PyTorch/XLA's benchmarks of models",
        run="opperf.formats.xla:xla_text",
        by_extension=False,
    ),
    *(
        Format(name, ".json", text, values=_exported(module), by_extension=False)
        for name, module, text in (
            ("pytest-benchmark", "pytest_benchmark", "JSON like that of pytest-benchmark"),
            ("bencher", "bencher", "Bencher's metric format"),
            ("hyperfine", "hyperfine", "JSON like that of hyperfine --export-json"),
            ("perfetto", "perfetto", "trace events, for ui.perfetto.dev"),
        )
    ),
    Format(
        "github-action-benchmark",
        ".json",
        "customSmallerIsBetter of github-action-benchmark",
        values="opperf.formats.github_action:write_run",
        by_extension=False,
    ),
    Format(
        "html-fragment",
        ".html",
        "part of a page, without scripts, for a site that has its own",
        report="opperf.reports.html:write_html",
        other_extensions=(".htm",),
    ),
    Format(
        "html",
        ".html",
        "a page in one file, which opens without a network",
        run="opperf.reports.pages.page:write_run",
        report="opperf.reports.pages.page:write_page",
        other_extensions=(".htm",),
    ),
    Format(
        "svg",
        ".svg",
        "a flame graph of a recorded program, or by headroom a roofline plot",
        drawing="opperf.reports.html:write_svg",
        has_sections=False,
    ),
    Format(
        "junit",
        ".xml",
        "a test for each figure or row, for a CI",
        report="opperf.reports.writing:write_junit",
        has_sections=False,
    ),
)
"""The formats that come with opperf."""


def known_formats() -> dict[str, Format]:
    """Returns all formats by name. Raises `UsageError` for a wrong entry point."""
    # Few commands need those of other packages.
    from opperf.declared import declared, load_declared

    found = {format.name: format for format in BUILT_IN}
    for entry in declared(GROUP):
        format = load_declared(entry)
        if not isinstance(format, Format):
            raise UsageError(f"{entry.value}, an entry point of the group {GROUP}, is no Format")
        if format.name in found:
            raise UsageError(f"{entry.value}: there is already a format {format.name!r}")
        found[format.name] = format
    return found


def formats_of(what: str) -> dict[str, Format]:
    """Returns the formats that write this, by name."""
    return {name: format for name, format in known_formats().items() if format.writes(what)}


def built_in_names(what: str) -> tuple[str, ...]:
    """Returns the names of those of `formats_of` that come with opperf."""
    return tuple(format.name for format in BUILT_IN if format.writes(what))


def format_named(name: str, what: str) -> Format:
    """Returns a format that writes this. Raises `UsageError` for any other."""
    for format in BUILT_IN:
        if format.name == name and format.writes(what):
            return format
    found = formats_of(what)
    if name not in found:
        raise unknown("format", name, found)
    return found[name]


def format_of_extension(extension: str, what: str) -> Format | None:
    """Returns the format that the extension of a file means; None if it means none of `what`."""
    meaning = extensions_of({format.name: format for format in BUILT_IN if format.writes(what)})
    return meaning.get(extension) or extensions_of(formats_of(what)).get(extension)


def extensions_of(formats: Mapping[str, Format]) -> dict[str, Format]:
    """Returns the formats that extensions of files mean, by extension."""
    return {
        extension: format
        for format in formats.values()
        if format.by_extension
        for extension in format.extensions
    }
