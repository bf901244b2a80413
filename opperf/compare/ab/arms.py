"""The two arms of a comparison: what is set in each, and the cases that stand opposite each other.

An arm is any number of settings `kind:value`, over what both have in common. Anything that a fresh
process can be given can be set: its interpreter, its environment variables, the settings of its
cases, and the operator that is measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from opperf.errors import UsageError, suggest
from opperf.model import DECLARED, Setting, Settings, Struct
from opperf.runner.pool import Worker
from opperf.runner.process import find_program
from opperf.sources.selecting import REGEX, Selection


class ArmSpec(Struct, frozen=True):
    """What is set in an arm; what is empty is as it is without arms."""

    variables: dict[str, str] = {}
    """Environment variables of the processes, beside those there are."""
    python: str = ""
    """Absolute path of the interpreter that runs them."""
    operators: tuple[str, ...] = ()
    """Operators or callables that are measured, each opposite the other arm's in the same place."""
    settings: dict[str, Any] = {}
    """Fields of `Settings`."""

    def __str__(self) -> str:
        shown = [f"env:{name}={value}" for name, value in self.variables.items()]
        shown += [f"python:{self.python}"] if self.python else []
        shown += [f"ops:{','.join(self.operators)}"] if self.operators else []
        shown += [f"{name}:{value}" for name, value in self.settings.items()]
        return " ".join(shown) or "nothing set"


def _variable(value: str) -> dict[str, Any]:
    name, equals, content = value.partition("=")
    if not name or not equals:
        raise ValueError("write it as env:NAME=VALUE")
    return {"variables": {name: content}}


def _python(value: str) -> dict[str, Any]:
    found = find_program(value)
    if found is None:
        raise ValueError("there is no such program, or it may not be run")
    return {"python": found}


def _operators(value: str) -> dict[str, Any]:
    names = tuple(name.strip() for name in value.split(","))
    for name in names:
        if not name or name.startswith(REGEX) or set(name) & set("*?["):
            raise ValueError("name operators one by one: each stands opposite one of the other arm")
    return {"operators": names}


def _setting(setting: Setting) -> Callable[[str], dict[str, Any]]:
    return lambda value: {"settings": {setting.name: setting.read(value)}}


KINDS: dict[str, Callable[[str], dict[str, Any]]] = {
    **{name: _setting(setting) for name, setting in DECLARED.items() if setting.axis},
    "env": _variable,
    "python": _python,
    "ops": _operators,
}
"""What can be set, and how its value is read: the fields of an `ArmSpec` that it is kept in. A
reader raises `ValueError`, in words for the user, for what is none. What a framework has to know
(its dtypes, profilers, devices) is for the framework to check."""


def arm_spec(settings: Iterable[str], option: str) -> ArmSpec:
    """The arm that settings like `env:OMP_NUM_THREADS=1` make. `option` is where they were given.

    Raises `UsageError` for what is no setting, and for two that are at odds.
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
            raise UsageError(f"{option} {setting!r}: there is nothing behind the colon")
        try:
            for name, more in KINDS[kind](value).items():
                fields[name] = _with(fields.get(name), more)
        except ValueError as error:
            raise UsageError(f"{option} {setting!r}: {error}") from error
    return ArmSpec(**fields)


def _with(before: Any, more: Any) -> Any:
    """A field with a further setting in it."""
    if before is None:
        return more
    if isinstance(more, tuple):
        return (*before, *more)
    if isinstance(more, dict) and not set(before) & set(more):
        return {**before, **more}
    raise ValueError("it is set twice in this arm")


def two_arms(a: Iterable[str], b: Iterable[str], named: bool) -> tuple[ArmSpec, ArmSpec]:
    """Both arms, from the options `--a` and `--b`; `named` tells whether operators are named
    beside them.

    Raises `UsageError` for arms that are no comparison.
    """
    arms = arm_spec(a, "--a"), arm_spec(b, "--b")
    if arms[0] == arms[1]:
        raise UsageError(
            f"A and B are the same ({arms[0]}); set what differs with --a and --b. A is measured "
            "against itself in every session, so that this needs no session of its own"
        )
    counts = [len(arm.operators) for arm in arms]
    if counts[0] != counts[1]:
        raise UsageError(
            f"--a names {counts[0]} and --b {counts[1]} operators with ops:...; each needs one "
            "that it stands opposite to"
        )
    if counts[0] and named:
        raise UsageError("the arms name their operators with ops:...; name no others beside them")
    return arms


def selection_of(arm: ArmSpec, common: Selection) -> Selection:
    """What is selected in an arm, its operators apart, from what both have in common."""
    return msgspec.structs.replace(
        common, phase=arm.settings.get("phase"), settings=settings_of(arm, common.settings)
    )


def settings_of(arm: ArmSpec, common: Settings) -> Settings:
    """The settings of an arm's cases."""
    return msgspec.structs.replace(common, **arm.settings, env={**common.env, **arm.variables})


def worker_of(
    arm: ArmSpec, framework: str, environment: Mapping[str, str], paced: bool = False
) -> Worker:
    """A fresh worker process of an arm; `environment` are the variables there are without it, and
    `paced` has fixed work timed between calls."""
    return Worker(framework, settings_of(arm, Settings()), environment, arm.python, paced)
