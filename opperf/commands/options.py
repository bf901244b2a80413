"""Options and arguments of commands, made of the declared fields of their requests."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from opperf.commands.command import Command
from opperf.errors import UsageError
from opperf.requests.declaring import Declared, Request, build, declared

Asked = TypeVar("Asked", bound=Request)

LONGEST_LIST = 60
"""Most characters of a list of words beside an option in its command's help."""


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
    if field.is_flag or field.is_required or field.default in (None, "", (), {}):
        return ""
    return f"  [default: {', '.join(field.texts(field.default))}]"


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


class RequestCommand(Command, Generic[Asked]):
    """A command whose options and arguments are the fields of a request; its function is given the
    request and returns the exit code."""

    def __init__(self, kind: type[Asked], function: Callable[[Asked], int], **more: Any) -> None:
        self.kind = kind
        parameters = [*map(parameter_of, declared(kind).values()), DEBUG]
        super().__init__(params=parameters, help=function.__doc__, **more)
        self.callback = lambda **values: self._call(function)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        taking = {n for f in declared(self.kind).values() if f.option.takes_words for n in f.names}
        return super().parse_args(ctx, repeat_options(args, taking) if taking else args)

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


def command(
    kind: type[Asked], examples: Mapping[str, str] | None = None, name: str | None = None
) -> Callable[[Callable[[Asked], int]], RequestCommand[Asked]]:
    """Returns a decorator that makes a command of a function of the request; its docstring is the
    help's."""

    def decorate(function: Callable[[Asked], int]) -> RequestCommand[Asked]:
        named = name or function.__name__
        return RequestCommand(kind, function, name=named, examples=examples)

    return decorate
