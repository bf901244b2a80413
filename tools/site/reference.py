"""Pages of the reference, from the tables that the program itself reads."""

from __future__ import annotations

import inspect
import keyword
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, get_args, get_type_hints

import click

import opperf
from opperf import errors, jax_operations, snippets, torch_operations
from opperf.commands import COMMANDS
from opperf.commands.ab import ab
from opperf.commands.group import Context
from opperf.commands.options import DeclaredOption, RequestCommand, continued
from opperf.commands.run import run
from opperf.frameworks.numpy import registry as numpy_registry
from opperf.machine.health.examine import PROBES
from opperf.metrics import metrics_by_name
from opperf.model import Settings
from opperf.model import metrics as model_metrics
from opperf.model.metrics import NOISE, UNRELIABLE, WITHOUT_FIGURE, Metric, MetricKind, NoteCode
from opperf.model.records import Status
from opperf.mxnet_api import runners as mxnet_runners
from opperf.opperf import cli, load_command
from opperf.reports.formats import BUILT_IN, DRAWN, REPORT, RUN
from opperf.requests.declaring import Declared
from opperf.results.columns import DERIVED
from opperf.results.units import MARK_LEGEND
from opperf.utils import benchmark_utils
from tools.site.documented import texts_of_constants, texts_of_members
from tools.site.markdown import code, codes, escape, fence, table

WIDTH = 88
"""Columns of examples: a page has about as many beside its navigation."""


def pages() -> dict[str, tuple[str, str]]:
    """Returns the title and the Markdown of each page, by its path, in the order of navigation."""
    commands = {f"reference/commands/{name}.md": (name, command_page(name)) for name in COMMANDS}
    return commands | {
        "reference/metrics.md": ("Metrics and columns", metrics_page()),
        "reference/notes.md": ("Notes and statuses", notes_page()),
        "reference/formats.md": ("Formats", formats_page()),
        "reference/exit-codes.md": ("Exit codes and errors", exit_codes_page()),
        "reference/categories.md": ("Categories", categories_page()),
        "reference/python.md": ("Python", python_page()),
    }


def command_page(name: str) -> str:
    """Returns the page of a command, with those of a group below it."""
    root = Context(cli, info_name="opperf", **cli.context_settings)
    return "\n".join(_command(load_command(name), f"opperf {name}", 1, root))


def _command(command: click.Command, name: str, level: int, parent: click.Context) -> Iterator[str]:
    context = Context(command, info_name=name.rpartition(" ")[2], parent=parent)
    yield f"{'#' * level} {name}\n"
    yield from (f"{escape(part)}\n" for part in inspect.cleandoc(command.help or "").split("\n\n"))
    usage = " ".join([name, *command.collect_usage_pieces(context)])
    yield fence("text", usage)
    if isinstance(command, RequestCommand):
        for purpose, line in command.examples.items():
            yield f"{escape(purpose)}:\n"
            yield fence("sh", "\n".join(continued(line, WIDTH)))
        for title, params in command.sections(context):
            # Of a group, each command of which has the like, they would fill the contents.
            yield f"## {title}\n" if level == 1 else f"**{title}**\n"
            yield table(("option", "meaning"), _options(params, context))
    if isinstance(command, click.Group):
        for sub in command.list_commands(context):
            found = command.get_command(context, sub)
            assert found is not None
            yield from _command(found, f"{name} {sub}", level + 1, context)


def _options(params: Iterable[click.Parameter], context: click.Context) -> Iterator[list[str]]:
    for param in params:
        names, meaning = param.get_help_record(context) or ("", "")
        yield [code(names), escape(meaning)]


def metrics_page() -> str:
    """Returns the page of metrics, computed columns and kinds."""
    measured = metrics_by_name().values()
    kinds = texts_of_members(MetricKind)
    return "\n".join(
        [
            "# Metrics and columns\n",
            "## Metrics\n",
            table(METRIC_TITLES, map(_metric, measured)),
            "## Columns computed from metrics\n",
            table(METRIC_TITLES, (_metric(column.metric) for column in DERIVED)),
            "## Kinds\n",
            table(
                ("kind", "meaning"),
                ([code(MetricKind[name].value), escape(kinds[name])] for name in kinds),
            ),
        ]
    )


METRIC_TITLES = ("name", "meaning", "unit", "kind", "better", "equal within")


def _metric(metric: Metric) -> list[str]:
    share, amount = metric.relative_tolerance, metric.absolute_tolerance
    bounds = [f"{100 * share:g} %"] * bool(share) + [f"{amount:g} {metric.unit}"] * bool(amount)
    return [
        code(metric.name),
        escape(metric.description),
        escape(metric.unit),
        metric.kind.value,
        "lower" if metric.lower_is_better else "higher",
        " or ".join(bounds),
    ]


def notes_page() -> str:
    """Returns the page of notes on figures, and of statuses of records."""
    texts = texts_of_members(NoteCode)
    of_groups = texts_of_constants(model_metrics)
    groups = {"NOISE": NOISE, "UNRELIABLE": UNRELIABLE, "WITHOUT_FIGURE": WITHOUT_FIGURE}
    parts = ["# Notes and statuses\n", f"{escape(MARK_LEGEND)}\n", "## Notes\n"]
    parts += [
        table(("note", "meaning"), ([code(NoteCode[n].value), escape(texts[n])] for n in texts))
    ]
    parts += [
        f"{escape(of_groups[name].rstrip('.'))}: {codes(note.value for note in group)}.\n"
        for name, group in groups.items()
    ]
    parts += [
        "## What makes timings noisy\n",
        "`opperf doctor` looks at these, and has a command that fixes what it finds.\n",
        table(
            ("cause", "why"), ([code(probe.name), escape(probe.explanation)] for probe in PROBES)
        ),
    ]
    parts += ["## Statuses\n", f"{escape(inspect.getdoc(Status) or '')}\n"]
    statuses = texts_of_members(Status)
    parts += [
        table(
            ("status", "meaning"), ([code(Status[n].value), escape(statuses[n])] for n in statuses)
        )
    ]
    return "\n".join(parts)


def formats_page() -> str:
    """Returns the page of formats: what each writes, and the extensions that mean it."""
    rows = [
        [
            code(format.name),
            codes(format.extensions),
            "yes" if format.by_extension else "",
            "yes" if format.writes(RUN) else "",
            "" if not format.writes(DRAWN) else "yes" if format.writes(REPORT) else "flame graph",
            escape(format.description),
        ]
        for format in BUILT_IN
    ]
    titles = ("format", "extensions", "meant by them", "files of runs", "reports", "what it is")
    return "\n".join(["# Formats\n", table(titles, rows)])


def exit_codes_page() -> str:
    """Returns the page of exit codes, and of the exceptions that Python raises."""
    texts = texts_of_constants(errors)
    constants = ("FOUND", "INCONCLUSIVE", "INTERRUPTED", "TERMINATED")
    kinds = _exceptions(errors.OpperfError)
    return "\n".join(
        [
            "# Exit codes and errors\n",
            "A command that did what it was asked to ends with 0. What else the codes of a command "
            "mean is on its page.\n",
            table(
                ("exit code", "meaning"),
                ([str(getattr(errors, name)), escape(texts[name])] for name in constants),
            ),
            "## Errors\n",
            table(
                ("error", "exit code", "meaning"),
                (
                    [code(kind.__name__), str(kind.exit_code), escape(inspect.getdoc(kind) or "")]
                    for kind in kinds
                ),
            ),
        ]
    )


def _exceptions(kind: type[errors.OpperfError]) -> Iterator[type[errors.OpperfError]]:
    if kind.__module__ == errors.__name__:
        yield kind
        for each in kind.__subclasses__():
            yield from _exceptions(each)


RUNNERS: Mapping[str, Mapping[str, object]] = {
    "PyTorch": torch_operations.RUNNERS,
    "JAX": jax_operations.RUNNERS,
    "MXNet": mxnet_runners.RUNNERS,
}


def categories_page() -> str:
    """Returns the page of categories, with the function of each that measures it from Python."""
    parts = ["# Categories\n"]
    for framework, runners in RUNNERS.items():
        rows = (
            [code(name), escape(_title(runner)), code(getattr(runner, "__name__", ""))]
            for name, runner in runners.items()
        )
        parts += [f"## {framework}\n", table(("category", "operators", "from Python"), rows)]
    parts += ["## NumPy\n", codes(numpy_registry.RULES) + ".\n"]
    return "\n".join(parts)


API: Mapping[str, str] = {
    **{
        f"opperf.{name}": f"{module}.{name}"
        for name, module in opperf.MODULES.items()
        if getattr(opperf, name).__module__ == module
    },
    **{
        f"{module.__name__}.{name}": f"{module.__name__}.{name}"
        for module, names in {
            benchmark_utils: benchmark_utils.__all__,
            snippets: snippets.__all__,
        }.items()
        for name in names
    },
}
"""Where public names are defined. The page of categories has the runners."""


def python_page() -> str:
    """Returns the page of the Python API, which mkdocstrings completes."""
    parts = ["# Python\n"]
    for name, defined in API.items():
        parts.append(f"::: {defined}\n    options: {{heading: {name}, toc_label: {name}}}\n")
        if name in KEYWORDS:
            titles = ("keyword", "type", "unit or form", "default, range", "meaning")
            rows = keyword_rows(getattr(opperf, name.removeprefix("opperf.")), KEYWORDS[name])
            parts.append(f"### Options of {name}\n\n{table(titles, rows)}")
    return "\n".join(parts)


KEYWORDS: Mapping[str, RequestCommand[Any]] = {"opperf.run": run, "opperf.ab": ab}
"""Functions whose keywords are options of a command."""

DEFAULT = re.compile(r"\s*\[(?:default: )?([^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*)\]$")
"""Ends the help of an option: its default, or its range."""


def keyword_rows(
    function: Callable[..., object], command: RequestCommand[Any]
) -> Iterator[list[str]]:
    """Yields the row of each keyword that is an option of a command, and not in the signature."""
    context = click.Context(command)
    named = inspect.signature(function).parameters
    found = [
        (word, option)
        for option in command.params
        if isinstance(option, DeclaredOption) and option.field.name not in command.kind.no_keywords
        for word in option.field.keywords
        if word not in named
    ]
    for word, option in found:
        _, meaning = option.get_help_record(context) or ("", "")
        defaults = []
        while found := DEFAULT.search(meaning):
            defaults.insert(0, found[1])
            meaning = meaning[: found.start()]
        default = "; ".join(defaults) or ("False" if option.is_flag else "None")
        name = f"{word}_" if keyword.iskeyword(word) else word
        form = "" if option.is_flag else option.metavar or ""
        yield [code(name), _type(option.field), escape(form), escape(default), escape(meaning)]


def _type(field: Declared) -> str:
    """Returns the type of a field's value in Python."""
    if field.is_flag:
        return "bool"
    if field.choices:
        return " or ".join(map(code, field.choices))
    if isinstance(field.default, Mapping) or "NAME=VALUE" in field.option.metavar:
        return "dict"
    plain = {int: "int", float: "float", Path: "path"}
    members = [TYPES.get(field.name, field.kind), *get_args(TYPES.get(field.name, field.kind))]
    text = " or ".join(word for kind, word in plain.items() if kind in members) or "str"
    return f"{text}, or a list" if field.is_repeated else text


TYPES = get_type_hints(Settings)
"""Types of settings, by option."""


def _title(runner: object) -> str:
    """Returns the first line of a runner's documentation, without its verb and point."""
    return (inspect.getdoc(runner) or "").partition("\n")[0].partition(" ")[2].rstrip(".")
