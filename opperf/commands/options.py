"""Options and arguments of commands, made of the declared fields of their requests."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from opperf.commands.group import Context
from opperf.errors import UsageError
from opperf.requests.declaring import SECTIONS, Declared, Request, build, declared
from opperf.requests.outputs import ReportedRequest

if TYPE_CHECKING:
    from opperf.reports.model import Report

Asked = TypeVar("Asked", bound=Request)

LONGEST_LIST = 60
"""Most characters of a list of words beside an option in its command's help."""


FIRST_COLUMN = 34
"""Most characters of an option beside its help; longer ones are above it."""


class ReadType(click.ParamType):  # type: ignore[type-arg]
    """Parses texts as a field's declaration says."""

    name = "text"

    def __init__(self, field: Declared) -> None:
        self.field = field

    @property
    def choices(self) -> tuple[str, ...]:
        """The words among which the value is, where they are known."""
        return self.field.choices

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return self.field.read(value)
        except (ValueError, UsageError) as error:
            self.fail(str(error), param, ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        if Path in (self.field.kind, *getattr(self.field.kind, "__args__", ())):
            return [CompletionItem(incomplete, type="file")]
        begin = incomplete.lower()
        return [CompletionItem(word) for word in self.field.choices if word.startswith(begin)]


class DeclaredOption(click.Option):
    """An option of a declared field, which may compute its help."""

    def __init__(self, field: Declared, **more: Any) -> None:
        super().__init__([*field.names, field.name], **more)
        self.field = field

    @property
    def section(self) -> str:
        """Title of its section in a help that has any."""
        return self.field.option.section

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        written = self.field.option.help
        text = written if isinstance(written, str) else written()
        self.help = text if "[default: " in text else text + _default_text(self.field)
        return super().get_help_record(ctx)


def _default_text(field: Declared) -> str:
    """Returns the default as help shows it, where it is no absence of a value."""
    default = field.default
    if field.is_flag or field.is_required or default is False or default in (None, "", (), {}):
        return ""
    return f"  [default: {', '.join(field.texts(default))}]"


def parameter_of(field: Declared) -> click.Parameter:
    """Returns the option or argument of a field."""

    def gather(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> Any:
        try:
            return field.option.gather(texts) if texts and field.option.gather else field.default
        except (ValueError, UsageError) as error:
            raise click.BadParameter(str(error)) from error

    read: dict[str, Any] = {"type": ReadType(field), "metavar": _metavar(field)}
    # With a default, be it None, nothing is missing.
    if not field.is_required:
        read["default"] = None if field.is_repeated else field.default or None
    if field.option.gather is not None:
        read |= {"type": str, "callback": gather}
    if not field.names:
        many = field.is_repeated
        return click.Argument(
            [field.name], nargs=-1 if many else 1, required=field.is_required, **read
        )
    if field.is_flag:
        return DeclaredOption(field, is_flag=True, default=False)
    if field.option.alone is not None:
        read |= {"is_flag": False, "flag_value": field.option.alone}
    return DeclaredOption(field, multiple=field.is_repeated, required=field.is_required, **read)


def _metavar(field: Declared) -> str:
    """Returns what stands for the value in help: its choices, unless they are too many."""
    listed = "|".join(field.choices)
    if listed and len(listed) <= LONGEST_LIST:
        return f"[{listed}]"
    return field.option.metavar or field.name.upper()


DEBUG = click.Option(["--debug"], is_flag=True, help="Show tracebacks.")


def repeat_options(args: Sequence[str], taking: Collection[str]) -> list[str]:
    """Returns the words of a command with the option before each of its words, for options that
    take several: click has options of one value."""
    words: list[str] = []
    option, count = "", 0
    for number, word in enumerate(args):
        if word == "--":
            return [*words, *args[number:]]
        if word in taking:
            option, count = word, 0
            words.append(word)
            continue
        # The word after the option is its value in any case.
        if word.startswith("-") or (count and Path(word).is_file()):
            option = ""
        if option and count:
            words.append(option)
        count += 1
        words.append(word)
    return words


def mark_alone(args: Sequence[str], fields: Mapping[str, Declared]) -> list[str]:
    """Returns the words of a command with the value that an option has without one, where the word
    behind it cannot be one: click would take it all the same."""
    words: list[str] = []
    for number, word in enumerate(args):
        if word == "--":
            return [*words, *args[number:]]
        field = fields.get(word)
        behind = args[number + 1] if number + 1 < len(args) else "-"
        is_alone = field is not None and not behind.startswith("-") and not _reads(field, behind)
        words.append(f"{word}={field.option.alone}" if field and is_alone else word)
    return words


def _reads(field: Declared, word: str) -> bool:
    try:
        field.read(word)
    except ValueError:
        return False
    return True


class RequestCommand(click.Command, Generic[Asked]):
    """A command whose options and arguments are the fields of a request; its function is given the
    request and returns the exit code. It refuses options of one value that are set several times,
    of which click would use the last. One with `examples`, commands by what they are for, has its
    options in sections."""

    context_class = Context

    def __init__(
        self,
        kind: type[Asked],
        function: Callable[[Asked], int],
        examples: Mapping[str, str] | None = None,
        **more: Any,
    ) -> None:
        self.kind, self.examples = kind, dict(examples or {})
        parameters = [*map(parameter_of, declared(kind).values()), DEBUG]
        super().__init__(params=parameters, help=function.__doc__, **more)
        self.callback = lambda **values: self._call(function)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if not self.examples:
            super().format_options(ctx, formatter)
            return
        with formatter.section("Examples"):
            for purpose, line in self.examples.items():
                formatter.write_text(f"{purpose}:")
                indent = formatter.current_indent + 2
                for part in continued(line, formatter.width - indent):
                    formatter.write(f"{'':{indent}}{part}\n")
        for title, params in self.sections(ctx):
            with formatter.section(title):
                formatter.write_dl(
                    [param.get_help_record(ctx) or ("", "") for param in params],
                    col_max=FIRST_COLUMN,
                )

    def sections(self, ctx: click.Context) -> Iterator[tuple[str, list[click.Option]]]:
        """Yields the sections of options that help shows, by their titles; one without examples has
        a single section."""
        shown = [
            param
            for param in self.get_params(ctx)
            if isinstance(param, click.Option) and param.get_help_record(ctx) is not None
        ]
        if not self.examples:
            yield "Options", shown
            return
        for title in SECTIONS:
            found = [
                param for param in shown if getattr(param, "section", "Other options") == title
            ]
            if found:
                yield title, found

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        fields = [(name, field) for field in declared(self.kind).values() for name in field.names]
        taking = {name for name, field in fields if field.option.takes_words}
        args = repeat_options(args, taking) if taking else args
        may_be_alone = {
            name: field
            for name, field in fields
            if field.option.alone is not None and field.option.read is not None
        }
        args = mark_alone(args, may_be_alone)
        _, _, occurrences = self.make_parser(ctx).parse_args(list(args))
        # Help is shown whatever else is wrong.
        counts = {} if self.get_help_option(ctx) in occurrences else Counter(occurrences)
        for param, number in counts.items():
            if number > 1 and has_one_value(param):
                raise click.UsageError(
                    f"{option_name(param)} takes one value and is set {number} times; set it once",
                    ctx,
                )
        return super().parse_args(ctx, args)

    def _call(self, function: Callable[[Asked], int]) -> None:
        ctx = click.get_current_context()
        ctx.exit(function(self.request_of(ctx)))

    def request_of(self, ctx: click.Context) -> Asked:
        """Returns the request of parsed words. Raises `UsageError`."""
        fields = declared(self.kind)
        given = {
            name: fields[name].flagged(ctx.params[name])
            if fields[name].is_flag
            else ctx.params[name]
            for name in fields
            if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT
        }
        return build(self.kind, given)


def continued(line: str, width: int) -> list[str]:
    """Returns a command as lines that a shell takes as one, split before options."""
    first, *options = re.split(r" (?=-)", line)
    lines = [first]
    for option in options:
        # Behind a line that goes on there is a backslash.
        if len(lines[-1]) + 1 + len(option) + 2 > width:
            lines[-1] += " \\"
            lines.append(f"  {option}")
        else:
            lines[-1] += f" {option}"
    return lines


def has_one_value(param: click.Parameter) -> bool:
    """Whether a parameter is an option that takes one value: no flag, and none of several."""
    return isinstance(param, click.Option) and not (param.is_flag or param.multiple or param.count)


def option_name(param: click.Parameter) -> str:
    """Returns the long name of an option, of several the last."""
    return max(reversed(param.opts), key=len)


def write(report: Report, request: ReportedRequest) -> int:
    """Writes a report to the outputs of its request; the exit code."""
    from opperf.reports.writing import write_reports

    write_reports(report, request.outputs)
    return 0


def command(
    kind: type[Asked], examples: Mapping[str, str] | None = None, name: str | None = None
) -> Callable[[Callable[[Asked], int]], RequestCommand[Asked]]:
    """Returns a decorator that makes a command of a function of the request; its docstring is the
    help's."""

    def decorate(function: Callable[[Asked], int]) -> RequestCommand[Asked]:
        named = name or function.__name__
        return RequestCommand(kind, function, name=named, examples=examples)

    return decorate
