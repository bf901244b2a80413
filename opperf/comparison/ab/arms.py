"""The two arms of a comparison, A and B, and how they are written on the command line.

An arm is any number of assignments `kind:value`, in addition to the options that both arms have in
common: its interpreter, environment variables, settings of its cases, and operators.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from opperf.errors import UsageError, suggest
from opperf.machine.kernel import THREAD_VARIABLES
from opperf.machine.pinning import NOT_PINNED, Cpus
from opperf.model import DECLARED, Setting, Settings, Struct
from opperf.sources.selecting import REGEX, Selection
from opperf.worker.client import Worker
from opperf.worker.process import find_program


class ArmSpec(Struct, frozen=True):
    """The assignments of an arm; empty fields are as in both arms."""

    variables: dict[str, str] = {}
    """Environment variables of its processes, in addition to the inherited ones."""
    options: dict[str, str] = {}
    """Options of the framework in its processes."""
    python: str = ""
    """Absolute path of its interpreter."""
    operators: tuple[str, ...] = ()
    """Operators or callables, each compared with the one in the same place of the other arm."""
    settings: dict[str, Any] = {}
    """Fields of `Settings`."""
    imports: tuple[str, ...] = ()
    """Modules that its processes import, as those of the other arm do."""

    def __str__(self) -> str:
        values = {
            "env": self.variables,
            "options": self.options,
            "python": self.python,
            **self.settings,
        }
        shown = [
            text for name, entry in values.items() for text in DECLARED[name].assignments(entry)
        ]
        shown += [f"ops:{','.join(self.operators)}"] if self.operators else []
        return " ".join(shown) or "nothing set"


def _entry(kind: str, field: str) -> Callable[[str], dict[str, Any]]:
    """Returns a reader of one entry of a setting that is a mapping, into this field of an
    `ArmSpec`."""

    def read(value: str) -> dict[str, Any]:
        name, equals, content = value.partition("=")
        if not name or not equals:
            raise ValueError(f"write it as {kind}:NAME=VALUE")
        return {field: {name: DECLARED[kind].read(content)}}

    return read


def _python(value: str) -> dict[str, Any]:
    found = find_program(value)
    if found is None:
        raise ValueError("no such program, or it is not executable")
    return {"python": found}


def _operators(value: str) -> dict[str, Any]:
    names = tuple(name.strip() for name in value.split(","))
    for name in names:
        if not name or name.startswith(REGEX) or set(name) & set("*?["):
            raise ValueError(
                "write full names: each operator is compared with one of the other arm"
            )
    return {"operators": names}


def _setting(setting: Setting) -> Callable[[str], dict[str, Any]]:
    return lambda value: {"settings": {setting.name: setting.read(value)}}


KINDS: dict[str, Callable[[str], dict[str, Any]]] = {
    **{name: _setting(setting) for name, setting in DECLARED.items() if setting.axis},
    "env": _entry("env", "variables"),
    "options": _entry("options", "options"),
    "python": _python,
    "ops": _operators,
}
"""Kinds of assignments, each with a function from its value to fields of an `ArmSpec`, which raises
`ValueError`, with a message for the user, for a wrong value. Frameworks check their own values
(dtypes, profilers, devices)."""


def arm_spec(settings: Iterable[str], option: str) -> ArmSpec:
    """Reads an arm from assignments such as `env:OMP_NUM_THREADS=1`, the values of `option`.

    Raises `UsageError` for one that is wrong, and for two that contradict each other.
    """
    fields: dict[str, Any] = {}
    for setting in settings:
        kind, colon, value = setting.partition(":")
        if not colon or kind not in KINDS:
            raise UsageError(
                f"{option} {setting!r}: an arm is set as KIND:VALUE, e.g. env:OMP_NUM_THREADS=1"
                f"{suggest(kind, KINDS)}; kinds: {', '.join(KINDS)}"
            )
        if not value:
            raise UsageError(f"{option} {setting!r}: no value after the colon")
        try:
            for name, more in KINDS[kind](value).items():
                fields[name] = _merge(fields.get(name), more)
        except ValueError as error:
            raise UsageError(f"{option} {setting!r}: {error}") from error
    return ArmSpec(**fields)


def _merge(before: Any, more: Any) -> Any:
    """Adds a further value to a field. Raises `ValueError` for a second value of one kind."""
    if before is None:
        return more
    if isinstance(more, tuple):
        return (*before, *more)
    if isinstance(more, dict) and not set(before) & set(more):
        return {**before, **more}
    raise ValueError("it is set twice in this arm")


def two_arms(
    a: Iterable[str], b: Iterable[str], named: bool, imports: tuple[str, ...] = ()
) -> tuple[ArmSpec, ArmSpec]:
    """Both arms, from the options `--a` and `--b`; `named` if there are operators outside them,
    too. Both import the modules `imports`.

    Raises `UsageError` for arms that cannot be compared.
    """
    arms = arm_spec(a, "--a"), arm_spec(b, "--b")
    if arms[0] == arms[1]:
        raise UsageError(
            f"A and B are the same ({arms[0]}); set the difference with --a and --b. Every session "
            "measures A against itself, so that this needs no session of its own"
        )
    counts = [len(arm.operators) for arm in arms]
    if counts[0] != counts[1]:
        raise UsageError(
            f"--a names {counts[0]} and --b {counts[1]} operators with ops:...; name as many in "
            "both"
        )
    if counts[0] and named:
        raise UsageError("the arms name their operators with ops:...; name no other operators")
    first, second = (msgspec.structs.replace(arm, imports=imports) for arm in arms)
    return first, second


def selection_of(arm: ArmSpec, common: Selection) -> Selection:
    """The selection of an arm, without its own operators, from the one that both have in common."""
    return msgspec.structs.replace(
        common,
        phase=arm.settings.get("phase", common.phase),
        settings=settings_of(arm, common.settings),
        dtype_given=common.dtype_given or "dtype" in arm.settings,
    )


def settings_of(arm: ArmSpec, common: Settings) -> Settings:
    """The settings of an arm's cases."""
    # A number of threads would override the arm's variables.
    threads = None if sets_threads(arm) else common.threads
    own = {"threads": threads, "imports": arm.imports, **arm.settings}
    return msgspec.structs.replace(
        common,
        **own,
        env={**common.env, **arm.variables},
        options={**common.options, **arm.options},
    )


def sets_threads(arm: ArmSpec) -> bool:
    """Whether an arm sets its threads itself, by the setting or by a variable."""
    return "threads" in arm.settings or not arm.variables.keys().isdisjoint(THREAD_VARIABLES)


def worker_of(
    arm: ArmSpec,
    framework: str,
    environment: Mapping[str, str],
    threads: int | None = None,
    reference_work: bool = False,
    cpus: Cpus = NOT_PINNED,
) -> Worker:
    """A worker of an arm, with `threads` if the arm sets none; `environment` are the inherited
    variables. With `reference_work`, that is timed between calls. `cpus` are its cores."""
    settings = settings_of(arm, Settings(threads=threads))
    return Worker(
        framework,
        settings,
        environment,
        arm.python,
        reference_work,
        cpus=cpus,
        measures_memory=False,
    )
