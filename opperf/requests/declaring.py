"""How a field of a request is declared, once: its option, parser, help and section. Options of the
command line, keywords of Python and the words of a command derive from that."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    TypeVar,
    Union,
    get_args,
    get_origin,
)
from typing import get_type_hints as hints_of

import msgspec

from opperf.errors import UsageError
from opperf.model.declaring import Read, one_of
from opperf.requests.parsers import number_within

Say = Callable[[str], None]
"""Is given a line for the user: a warning, or how far the work is."""

T = TypeVar("T")


def unsaid(text: str) -> None:
    """Says nothing."""


def warn(say: Say, warnings: Iterable[str]) -> None:
    """Says what is doubtful."""
    for warning in warnings:
        say(f"warning: {warning}")


def told(read: tuple[T, Iterable[str]], say: Say) -> T:
    """Returns what was read, and says what is doubtful about it."""
    found, warnings = read
    warn(say, warnings)
    return found


Gather = Callable[[tuple[str, ...]], Any]
"""Parses all texts of an option that may be repeated; raises as a `Read` does."""

SECTIONS = (
    *("Cases", "Arms", "Commits", "Inputs", "Axes", "Settings", "Cluster", "Time and precision"),
    *("Profiling", "Replay", "Insides", "Comparison", "History", "Output"),
    *("Plan, resumption and exit code", "Other options"),
)
"""Titles of the sections of a command's help, in their order."""

FREE = frozenset(
    ("Arms", "Commits", "Cluster", "Profiling", "Replay", "Insides", "Output", SECTIONS[-2])
)
"""Sections of fields that a run may be resumed with other values of: its file has the cases, and
says under which programs they are profiled. Arms are compared as a whole."""


@dataclass(frozen=True)
class Option:
    """The declaration of a field."""

    help: str | Callable[[], str] = ""
    """The meaning; computed where it lists what is only known later."""
    read: Read | None = None
    """Parser of one text; by default that of the field's type."""
    gather: Gather | None = None
    """Parser of all texts of an option that may be repeated."""
    low: float | None = None
    high: float = math.inf
    """Limits of a number, both included, which help shows; without `low` there are none."""
    metavar: str = ""
    """By default that of the field's type, else its name."""
    alone: Any = None
    """The text of an option that is written without a value, where it may be; None where not."""
    choices: tuple[str, ...] = ()
    """Values to complete; by default those of a `Literal`."""
    takes_words: bool = False
    """Whether it takes all words up to the next option, to `--` or to a file, as if repeated."""
    section: str = ""
    """By default that of the request or group."""
    text: Callable[[Any], str] = str
    """Writes a value, or an element of one, as `read` and `gather` read it."""
    texts: Callable[[Any], tuple[str, ...]] | None = None
    """Writes a whole value as `gather` reads it, where that is not each element for itself."""
    flag: Any = True
    """The value that an option without one sets."""
    may_differ: bool = False
    """Whether a run may be resumed with another value, which its cases do not depend on, or which
    is compared otherwise."""
    excludes: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Fields that cannot be set with it, each with the reason and what to do."""
    spellings: str | None = None
    """`-o --output-file`, of which the first long one is shown; by default the field's name, empty
    for an argument."""

    def of(self, name: str, kind: Any, default: Any, section: str) -> Option:
        """Returns the declaration of a field, with what its name, type and default say."""
        inner = _inner(kind)
        long = f"--{name.rstrip('_').replace('_', '-')}"
        made = dataclasses.replace(
            self,
            spellings=long if self.spellings is None else self.spellings,
            section=self.section or section,
            metavar=self.metavar or METAVARS.get(inner, ""),
        )
        if self.low is None:
            return made
        limits = f"x>={self.low:g}"
        if self.high != math.inf:
            limits = f"{self.low:g}<=x<={self.high:.0f}"
        shown = limits if default is None else f"default: {default}; {limits}"
        read = number_within(inner, self.low, self.high)
        return dataclasses.replace(made, read=read, help=f"{self.help}  [{shown}]")


def argument(metavar: str, read: Read | None = None, gather: Gather | None = None) -> Option:
    """Returns the declaration of an argument of the command line; of several values it ends with
    `...`, and in brackets it may be absent."""
    return Option(read=read, gather=gather, metavar=metavar, section="Other options", spellings="")


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """Fields that several requests have together, as one field of each."""

    section: ClassVar[str] = "Other options"
    """That of its fields which name none."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """Base class of what can be asked for. The `run` of a subclass does it, and returns the result.
    It raises `OpperfError`, for an output that could not be written before there is one."""

    section: ClassVar[str] = "Other options"
    """That of its fields which name none."""
    no_keywords: ClassVar[tuple[str, ...]] = ()
    """Fields that are no keywords of Python, where they have no meaning or another form."""
    omitted: ClassVar[tuple[str, ...]] = ()
    """Inherited fields that cannot be set, declared ones of groups among them."""
    given: frozenset[str] = frozenset()
    """Names of the fields that were set, whatever to."""


class Declared(NamedTuple):
    """A declared field of a request."""

    name: str
    option: Option
    kind: Any
    """Its type."""
    default: Any
    """`msgspec.NODEFAULT` if it has to be given."""
    group: str
    """The request's field that holds it; empty for the request itself."""

    @property
    def names(self) -> tuple[str, ...]:
        """The spellings of its option."""
        return tuple((self.option.spellings or "").split())

    @property
    def shown(self) -> str:
        """The name that users know it by."""
        long = (name for name in self.names if name.startswith("--"))
        return next(long, (*self.names, self.option.metavar.strip("[]."))[0]).partition("/")[0]

    @property
    def keywords(self) -> tuple[str, ...]:
        """Its names in Python."""
        long = [name[2:].partition("/")[0] for name in self.names if name.startswith("--")]
        return tuple(name.replace("-", "_") for name in long)

    @property
    def is_flag(self) -> bool:
        """Whether its option takes no value."""
        has_parser = self.option.read is not None or self.option.gather is not None
        return bool(self.names) and self.kind is bool and not has_parser

    @property
    def is_fixed(self) -> bool:
        """Whether a resumed run has to have the same value."""
        return not (self.option.may_differ or self.option.section in FREE)

    @property
    def is_required(self) -> bool:
        """Whether it has to be given."""
        return self.default is msgspec.NODEFAULT

    @property
    def choices(self) -> tuple[str, ...]:
        """The words among which its value is, where they are known."""
        literals = (
            kind for kind in (self.kind, *get_args(self.kind)) if get_origin(kind) is Literal
        )
        return self.option.choices or tuple(get_args(next(literals, None)))

    def flagged(self, is_there: bool) -> Any:
        """Returns the value of a flag that is there, or is not."""
        return self.option.flag if is_there else not self.option.flag

    def read(self, text: str) -> Any:
        """Returns the value of a text. Raises `ValueError` or `UsageError` for one of no value."""
        parser = self.option.read or (one_of(*self.choices) if self.choices else _plain(self.kind))
        return parser(text)

    def parse(self, texts: tuple[str, ...]) -> Any:
        """Returns the value of all texts, likewise."""
        if self.option.gather is not None:
            return self.option.gather(texts)
        if get_origin(self.kind) is tuple:
            return tuple(map(self.read, texts))
        return self.read(texts[-1])

    def texts(self, value: Any) -> tuple[str, ...]:
        """Returns the texts that are parsed to a value."""
        write = self.option.text
        if isinstance(value, str):
            return (value,)
        if self.option.texts is not None:
            return self.option.texts(value)
        if isinstance(value, Mapping):
            return tuple(f"{key}={write(each)}" for key, each in value.items())
        if isinstance(value, (list, tuple, set, frozenset)) and self.is_repeated:
            return tuple(map(write, value))
        if isinstance(value, (list, tuple)):
            # Commas separate what one text may have several of.
            return (",".join(map(write, value)),)
        return (write(value),)

    @property
    def is_repeated(self) -> bool:
        """Whether it takes several texts."""
        return self.option.gather is not None or get_origin(self.kind) is tuple

    def words(self, value: Any) -> Iterator[str]:
        """Yields the words of a command line that set it."""
        if self.is_flag:
            yes, _, no = self.names[0].partition("/")
            if value == self.option.flag or no:
                yield yes if value == self.option.flag else no
        elif not self.names:
            yield from self.texts(value)
        elif value is not None:
            yield from (f"{self.shown}={text}" for text in self.texts(value))


class Chosen:
    """The declaration of a field that holds several, which are declared elsewhere."""

    def fields(self) -> Iterable[Declared]:
        """Returns the fields in it, without a group."""
        raise NotImplementedError


METAVARS: Mapping[Any, str] = {int: "N", Path: "FILE"}
"""Stand for values of a type in help."""

PLAIN: Mapping[Any, tuple[Read, str]] = {
    int: (int, "an integer"),
    float: (float, "a number"),
    str: (str, "a text"),
    Path: (Path, "a path"),
}
"""Parsers of texts by type, each with what it reads."""


def _plain(kind: Any) -> Read:
    parser, what = PLAIN[_inner(kind)]

    def read(text: str) -> Any:
        try:
            return parser(text)
        except ValueError:
            raise ValueError(f"{text!r} is not {what}") from None

    return read


def _inner(kind: Any) -> Any:
    """Returns a type without a tuple or an alternative None around it."""
    if get_origin(kind) in (tuple, Union, UnionType):
        return next(inner for inner in get_args(kind) if inner is not type(None))
    return kind


@functools.cache
def declared(kind: type[msgspec.Struct]) -> dict[str, Declared]:
    """Returns the declared fields of a request, those of its groups included, in their order; what
    it inherits comes last, as the arguments of a command come first."""
    found: dict[str, Declared] = {}
    hints = hints_of(kind, include_extras=True)
    inherited = {name for base in kind.__bases__ for name in hints_of(base)}
    for field in sorted(msgspec.structs.fields(kind), key=lambda own: own.name in inherited):
        hint = hints[field.name]
        if get_origin(hint) is Annotated and isinstance(hint.__metadata__[0], Chosen):
            for inner in hint.__metadata__[0].fields():
                found[inner.name] = inner._replace(group=field.name)
        elif get_origin(hint) is Annotated:
            (option,) = (each for each in hint.__metadata__ if isinstance(each, Option))
            default = field.default
            if field.default_factory is not msgspec.NODEFAULT:
                default = field.default_factory()
            inner = hint.__origin__
            owner: Any = next(base for base in kind.__mro__ if field.name in base.__annotations__)
            option = option.of(field.name, inner, default, owner.section)
            found[field.name] = Declared(field.name, option, inner, default, "")
        elif isinstance(hint, type) and issubclass(hint, Group):
            for name, inner in declared(hint).items():
                found[name] = inner._replace(group=field.name)
    omitted = getattr(kind, "omitted", ())
    kept = {name: field for name, field in found.items() if name not in omitted}
    _check_distinct(kind, kept.values())
    return kept


def _check_distinct(kind: type[msgspec.Struct], fields: Iterable[Declared]) -> None:
    counts = Counter(name for field in fields for name in field.names)
    for name, count in counts.items():
        if count > 1:
            raise UsageError(
                f"{name} is declared twice for {kind.__name__}: a package whose entry point is of "
                "the group opperf.options has an option of this name too; rename it, or remove the "
                "package"
            )


Asked = TypeVar("Asked", bound=Request)


def build(kind: type[Asked], values: Mapping[str, Any]) -> Asked:
    """Returns a request with these values of its fields. Raises `UsageError` for fields that
    exclude each other, and as the request itself does."""
    fields = declared(kind)
    own: dict[str, Any] = {}
    grouped: dict[str, dict[str, Any]] = {}
    for name, value in values.items():
        group = fields[name].group
        (grouped.setdefault(group, {}) if group else own)[name] = value
    check_excluded(fields, values)
    groups = {
        name: holder(**inner) if issubclass(holder, msgspec.Struct) else inner
        for name, holder in holders(kind).items()
        if (inner := grouped.get(name)) is not None
    }
    return kind(given=frozenset(values), **own, **groups)


def check_excluded(fields: Mapping[str, Declared], given: Collection[str]) -> None:
    """Raises `UsageError` if fields were set that exclude each other."""
    for name in given:
        excluded = fields[name].option.excludes if name in fields else {}
        for other, reason in excluded.items():
            if other in given:
                option = fields[other].shown if other in fields else f"--{other}"
                raise UsageError(f"{fields[name].shown} and {option} exclude each other: {reason}")


def holders(kind: type[Request]) -> dict[str, type]:
    """Returns the types of the fields that hold declared fields."""
    hints = hints_of(kind)
    groups = {field.group for field in declared(kind).values()} - {""}
    return {name: get_origin(hints[name]) or hints[name] for name in groups}


def value_of(request: Request, name: str) -> Any:
    """Returns the value of a declared field."""
    field = declared(type(request))[name]
    owner = getattr(request, field.group) if field.group else request
    return owner.get(name, field.default) if isinstance(owner, Mapping) else getattr(owner, name)


def fixed_values(request: Request) -> dict[str, tuple[Any, Any]]:
    """Returns the value and the default of each field in which a resumed run may not differ, as
    JSON has them, by name."""
    return {
        name: (_as_json(value_of(request, name)), _as_json(field.default))
        for name, field in declared(type(request)).items()
        # Axes have values of several names.
        if field.is_fixed and field.group != "axes" and not field.is_required
    }


def _as_json(value: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value, enc_hook=str))
