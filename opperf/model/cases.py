"""A case, one thing to measure, and the table of all settings by their declarations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal, TypeVar, get_args, get_type_hints

from opperf.model import declaring
from opperf.model.declaring import ID_LENGTH, ID_VERSION, Struct, digest
from opperf.model.operators import RulePlace
from opperf.model.settings import Settings
from opperf.model.targets import (
    CallableTarget,
    FileTarget,
    OperatorTarget,
    Target,
    canonical_target,
)
from opperf.model.values import Argument, TensorSpec, display_argument, iter_tensors

T = TypeVar("T")

SettingValues = Mapping[str, Any]
"""Values of settings by name, each of the type that `Settings` has for it."""

Pass = Literal["forward", "backward"]

PASSES: tuple[Pass, ...] = get_args(Pass)
"""Every pass; the metric of its time has the same name."""


SEPARATOR = "|"
"""Between the operator and the further parts of a case's id in its source."""


class CallSite(Struct, frozen=True):
    """A place of a program that made calls of a case."""

    module: str = ""
    """Path of the module of the model, as `encoder.layers.0.attention`; empty outside of one."""
    file: str = ""
    line: int = 0
    """Line of the file; 0 if unknown."""
    function: str = ""
    phase: str = ""
    """`forward`, `backward` or `optimizer`; empty if unknown."""
    count: int = 1
    """Number of its calls."""
    time_ns: float | None = None
    """Time of its calls there, summed; None if they were not timed."""
    program: str = ""
    """Name of the compiled program that makes them; empty outside of one."""


class Case(Struct, frozen=True):
    """One thing to measure: a target, its arguments and settings."""

    target: Target
    arguments: dict[str, Argument]
    """By name; a positional argument under its position, `0`, `1` ..."""
    settings: Settings = Settings()
    passes: tuple[Pass, ...] = ("forward", "backward")
    """`backward` requests it; whether there is a gradient is found by trying."""
    origin: str = ""
    why: str = ""
    """In one line, which model, paper or kernel its inputs stand for."""
    category: str = ""
    tags: tuple[str, ...] = ()
    point: dict[str, int] = {}
    count: int = 1
    source_id: str = ""
    """The case's id in its source, if that has ids."""
    repeat: int = 0
    """Number of equal cases before it, of a source whose every case is measured."""
    sites: tuple[CallSite, ...] = ()
    """Where a recorded program made the calls."""
    recorded: tuple[int, ...] = ()
    """Times of the calls in their source, in nanoseconds, in order; of very many a sample; empty if
    it has none."""
    returned: tuple[tuple[int, ...], ...] = ()
    """Shapes of the tensors that the call returned, where its source has them and contents are not
    yet drawn."""
    rules: tuple[RulePlace, ...] = ()
    """The places that made its inputs, the outermost first, where that was asked for."""
    name: str = ""
    """Name in results, if another target of the run has the same label."""

    @property
    def id(self) -> str:
        """Hash of target, arguments and settings in a versioned form without defaults: the same on
        every machine and in every later version."""
        return digest(
            {
                "version": ID_VERSION,
                "target": canonical_target(self.target),
                "arguments": self.arguments,
                "settings": {
                    name: value
                    for name, value in identity_of(self.settings).items()
                    if value != DEFAULTS[name]
                },
                # Absent at its default, as all later fields, so that no id changes.
                **({"repeat": self.repeat} if self.repeat else {}),
            }
        )[:ID_LENGTH]

    @property
    def call_id(self) -> str:
        """Hash of target and arguments alone, the same with all settings that change neither."""
        content = {"target": canonical_target(self.target), "arguments": self.arguments}
        return digest(content)[:ID_LENGTH]

    @property
    def source_ids(self) -> tuple[str, ...]:
        """Its id in its source, with the operator and without: `torch.add|0|0|1`, `0|0|1`; none if
        the source has no ids."""
        _, separator, suffix = self.source_id.partition(SEPARATOR)
        return tuple(filter(None, (self.source_id, separator and suffix)))

    @property
    def label(self) -> str:
        return self.name or self.target.label

    @property
    def pattern(self) -> str:
        """The target as a command takes it; empty where none can name it."""
        if isinstance(self.target, OperatorTarget):
            return self.target.path
        if isinstance(self.target, FileTarget):
            return f"{self.target.file}:{self.target.function}"
        return self.target.path if isinstance(self.target, CallableTarget) else ""

    def tensors(self) -> Iterator[tuple[str, TensorSpec]]:
        """Yields every tensor of the arguments with its argument's name, lists flattened."""
        for name, argument in self.arguments.items():
            for spec in iter_tensors(argument):
                yield name, spec


def display_arguments(case: Case) -> dict[str, Any]:
    """Returns the case's arguments by name, each in the form of `display_argument`."""
    return {name: display_argument(value) for name, value in case.arguments.items()}


def split_positional(arguments: Mapping[str, T]) -> tuple[list[T], dict[str, T]]:
    """Splits a case's arguments, or the values made for them, into positional and named ones."""
    positions = sorted((name for name in arguments if name.isdecimal()), key=int)
    named = {name: value for name, value in arguments.items() if not name.isdecimal()}
    return [arguments[position] for position in positions], named


def _declared() -> Iterator[declaring.Setting]:
    for name, hint in get_type_hints(Settings, include_extras=True).items():
        (setting,) = (
            metadata for metadata in hint.__metadata__ if isinstance(metadata, declaring.Setting)
        )
        title = setting.title or name.replace("_", " ").capitalize()
        yield replace(setting, name=name, title=title, metavar=setting.metavar or name.upper())


DECLARED: dict[str, declaring.Setting] = {setting.name: setting for setting in _declared()}
"""Every setting, by the field of `Settings`."""

DEFAULTS: dict[str, Any] = {name: getattr(Settings(), name) for name in DECLARED}
"""The default of every setting. None ever changes, as that would change ids."""

MAPPINGS = tuple(name for name, default in DEFAULTS.items() if isinstance(default, dict))
"""Settings of which each use of the option sets one entry, NAME=VALUE."""

SESSION_AXES = ("dtype", "mode", "phase", "autocast", "memory_format", "cache")
"""Settings of a call of which a session of `ab` may have several values, as a run may of all."""


def identity_of(settings: Settings) -> dict[str, Any]:
    """Returns the settings that are part of a case's id."""
    return {name: getattr(settings, name) for name, one in DECLARED.items() if one.identity}
