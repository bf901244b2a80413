"""The base class of the types in `opperf.model`, and the canonical form that ids are hashes of:
equal values have equal forms. The declaration of a setting, and the parsers of settings' texts."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from opperf import dtypes


class Struct(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=False):
    """Base class of opperf's types. Unknown fields are those of a later version: ignored."""


ID_VERSION = 1
"""Version of the form. Fields at their defaults are absent from it, so that a new field with a
default changes no id and needs no new version."""

ID_LENGTH = 16
"""Hexadecimal digits of an id: among a million cases one in thirty million collides."""


def canonical(value: Any) -> Any:
    """Returns the value as JSON types, without fields that equal their defaults."""
    if isinstance(value, msgspec.Struct):
        tag, fields = _fields(type(value))
        content = {
            name: canonical(element)
            for name, default in fields
            if (element := getattr(value, name)) != default
        }
        return {**tag, **content}
    if isinstance(value, dict):
        return {key: canonical(element) for key, element in value.items()}
    if isinstance(value, (list, tuple)):
        return [canonical(element) for element in value]
    return value


@functools.cache
def _fields(kind: type[msgspec.Struct]) -> tuple[dict[str, Any], tuple[tuple[str, Any], ...]]:
    config = kind.__struct_config__
    tag = {config.tag_field: config.tag} if config.tag_field else {}
    fields = tuple(
        (
            field.name,
            field.default_factory()
            if field.default_factory is not msgspec.NODEFAULT
            else field.default,
        )
        for field in msgspec.structs.fields(kind)
    )
    return tag, fields


def digest(value: Any) -> str:
    """Returns the hexadecimal SHA-256 of a value's canonical form."""
    data = msgspec.json.encode(canonical(value), order="deterministic")
    return hashlib.sha256(data).hexdigest()


Read = Callable[[str], Any]
"""Parses a text; raises `ValueError` with a message for the user."""


@dataclass(frozen=True)
class Setting:
    """The declaration of one setting."""

    option: str
    help: str
    read: Read = str
    short: str = ""
    also: str = ""
    metavar: str = ""
    """By default the field's name; so is the title."""
    identity: bool = True
    """Whether it is part of a case's id, or says how often, how long or how a case is measured."""
    process: bool = False
    """Whether its scope is the worker process; otherwise it is the call."""
    axis: bool = False
    """Whether the option takes several values, each of which makes a case of its own."""
    common: bool = False
    """Whether commands in which all cases share one value (`ab`, `show`) have the option."""
    title: str = ""
    empty: str = ""
    many: bool = False
    flag: Any = None
    """The value set by an option that takes none."""
    alone: str | None = None
    """The text of an option that is written without a value, where it may be; None where not."""
    section: str = "Settings"
    """Title of its section in a command's help."""
    name: str = ""

    def text(self, value: Any) -> str:
        """The value as a user writes it; `empty` for None and for an empty value."""
        if isinstance(value, bool):
            return "yes" if value else "no"
        return " ".join(self._texts(value)) or self.empty

    def arguments(self, value: Any) -> tuple[str, ...]:
        """The words of a command line that set the value."""
        if self.flag is not None:
            return (self.option,) if value == self.flag else ()
        if self.alone is not None and isinstance(value, bool):
            return (self.option,) if value else ()
        return tuple(word for text in self._texts(value) for word in (self.option, text))

    def assignments(self, value: Any) -> tuple[str, ...]:
        """The value as the arms of `ab` take it: `dtype:float16`, `env:NAME=VALUE`."""
        return tuple(f"{self.name}:{text}" for text in self._texts(value))

    def _texts(self, value: Any) -> tuple[str, ...]:
        """The texts from which the value is read: several for a mapping, none for nothing."""
        if isinstance(value, dict):
            return tuple(f"{name}={text}" for name, text in value.items())
        if isinstance(value, tuple):
            return value
        if value is None:
            return (self.empty,) if self.empty else ()
        return (str(value),) if value != "" else ()


def one_of(*words: str) -> Read:
    """Returns a parser of one of these words, in any case."""

    def read(text: str) -> str:
        word = text.lower()
        if word not in words:
            raise ValueError(f"{text!r} is not one of {', '.join(words)}")
        return word

    return read


def integer_from(least: int) -> Read:
    """Returns a parser of integers of at least `least`."""

    def read(text: str) -> int:
        number = int(text) if text.isdecimal() else -1
        if number < least:
            raise ValueError(f"{text!r} is not an integer of at least {least}")
        return number

    return read


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def number_from(least: float) -> Read:
    """Returns a parser of finite numbers of at least `least`."""

    def read(text: str) -> float:
        value = _number(text)
        if not least <= value < float("inf"):
            raise ValueError(f"{text!r} is not a number of at least {least:g}")
        return value

    return read


def number_between(low: float, high: float = float("inf")) -> Read:
    """Returns a parser of numbers between `low` and `high`, both excluded."""

    def read(text: str) -> float:
        value = _number(text)
        if not low < value < high:
            limit = "" if high == float("inf") else f" and less than {high:g}"
            raise ValueError(f"{text!r} is not a number greater than {low:g}{limit}")
        return value

    return read


def read_flag(text: str) -> str:
    """Returns the text, in lower case if it is true or false: both spellings have one id."""
    return text.lower() if text.lower() in ("true", "false") else text


def read_names(text: str) -> str:
    """Returns names separated by commas, without blanks and duplicates; nothing for no text."""
    if not text:
        return text
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise ValueError(f"{text!r} is not a list of names; write it as weight,bias")
    return ",".join(dict.fromkeys(names))


OFF = "off"
"""In place of a dtype of autocast: no mixed precision."""


def read_autocast(text: str) -> str:
    """Returns the canonical name of a dtype, or `off`."""
    return OFF if text.lower() == OFF else dtypes.canonical(text)


CONTIGUOUS = "contiguous"
"""The memory format of tensors as rules make them, most of which are contiguous."""


ALL = "all"
"""In place of a number of threads: the framework's own choice."""


def read_thread_count(text: str) -> int | None:
    """Returns a number of threads; None for `all`."""
    if text.lower() == ALL:
        return None
    try:
        count: int = integer_from(1)(text)
    except ValueError:
        raise ValueError(
            f"{text!r} is not a number of threads; write an integer of at least 1, or all"
        ) from None
    return count
