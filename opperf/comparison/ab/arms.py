"""The arms of a session, how they are written on the command line, and the threads
that a session measures with.

An arm is any number of assignments `kind:value`, in addition to the options that all arms have in
common: its interpreter, environment variables, settings of its cases, and operators. One thread
scatters by a third of what all do, so the verdicts have one by default. An operator that no longer
runs in parallel is no slower then: a coarse look with all threads finds it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from opperf.environments.specification import is_requirement, read_requirements
from opperf.errors import UsageError, suggest
from opperf.machine.kernel import THREAD_VARIABLES
from opperf.machine.pinning import NOT_PINNED, Cpus
from opperf.metrics import process_settings
from opperf.model import DECLARED, Case, Interpreter, Setting, Settings, Struct
from opperf.model.declaring import ALL, read_thread_count
from opperf.plurals import pluralize
from opperf.processes.commands import find_program
from opperf.sources.selecting import REGEX, Selection
from opperf.sources.varying import with_settings
from opperf.worker.client import Worker


class ArmSpec(Struct, frozen=True):
    """The assignments of an arm; empty fields are as in all arms."""

    name: str = ""
    variables: dict[str, str] = {}
    options: dict[str, str] = {}
    python: str = ""
    operators: tuple[str, ...] = ()
    """Operators or callables, each compared with the one in the same place of the other arm."""
    settings: dict[str, Any] = {}
    imports: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()
    """Of an environment of its own, whose interpreter `python` is once it is installed."""
    packages: tuple[str, ...] = ()
    """Every package of that environment with its version."""
    framework: str = ""
    """Its own; empty for that of the session."""
    namespace: str = ""
    """That its operators of canonical operations are of; empty for any."""

    @property
    def interpreter(self) -> Interpreter | None:
        """The interpreter of its own; None for that of opperf."""
        if not self.python:
            return None
        requirements = ",".join(self.requirements)
        return Interpreter(self.python, requirements=requirements, packages=self.packages)

    def __str__(self) -> str:
        place = ".".join(filter(None, (self.framework, self.namespace)))
        values = {
            "env": self.variables,
            "options": self.options,
            "python": "" if self.requirements else self.python,
            **self.settings,
        }
        shown = [
            text for name, entry in values.items() for text in DECLARED[name].assignments(entry)
        ]
        shown += [f"env:{requirement}" for requirement in self.requirements]
        shown += [f"ops:{','.join(self.operators)}"] if self.operators else []
        return " ".join(filter(None, (place, *shown))) or "nothing set"


def _entry(kind: str, field: str) -> Callable[[str], dict[str, Any]]:
    """Returns a reader of an entry of this mapping into a field of an `ArmSpec`."""

    def read(value: str) -> dict[str, Any]:
        name, equals, content = value.partition("=")
        if not name or not equals:
            raise ValueError(f"write it as {kind}:NAME=VALUE")
        return {field: {name: DECLARED[kind].read(content)}}

    return read


_variable = _entry("env", "variables")


def _environment(value: str) -> dict[str, Any]:
    """Reads a variable, `NAME=VALUE`, or requirements, `NAME==VERSION,...`."""
    if is_requirement(value):
        # Checked here, and installed once all options are read.
        return {"requirements": (read_requirements(value).text,)}
    try:
        return _variable(value)
    except ValueError as error:
        raise ValueError(f"{error}, or env:NAME==VERSION for a requirement") from error


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
    # An arm has no node: a session has this machine.
    **{
        name: _setting(setting)
        for name, setting in DECLARED.items()
        if setting.axis and name != "node"
    },
    "env": _environment,
    "options": _entry("options", "options"),
    "python": _python,
    "ops": _operators,
}
"""Readers of a value into fields of an `ArmSpec`, by kind. They raise `ValueError` for the user."""


def arm_spec(settings: Iterable[str], option: str) -> ArmSpec:
    """Returns the arm of assignments `KIND:VALUE`. Raises `UsageError` for wrong ones."""
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
    if "python" in fields and "requirements" in fields:
        raise UsageError(
            f"{option} python:{fields['python']} and env:{','.join(fields['requirements'])} both "
            "choose the environment; give only one"
        )
    return ArmSpec(**fields)


def _merge(before: Any, more: Any) -> Any:
    """Returns a field with a further value. Raises `ValueError` for a second value of one kind."""
    if before is None:
        return more
    if isinstance(more, tuple):
        return (*before, *more)
    if isinstance(more, dict) and not set(before) & set(more):
        return {**before, **more}
    raise ValueError("it is set twice in this arm")


def option_of(name: str) -> str:
    """Returns the option that sets an arm."""
    return f"--{name.lower()}" if name in ("A", "B") else f"--arm {name}"


MOST_ARMS = 8
"""Arms of a session, at most: a block has two processes of each, and its first and last ones are
then as far apart in time as the machine's speed changes."""


def name_arms(
    a: Sequence[str], b: Sequence[str], more: Iterable[str]
) -> dict[str, tuple[str, list[str]]]:
    """Returns the option and the assignments of each arm, by name in order: A and B, if an option
    of theirs is given or fewer than two others are named, and those of `--arm NAME=KIND:VALUE`.
    Raises `UsageError` for a text without a name, and for too many arms."""
    found: dict[str, tuple[str, list[str]]] = {}
    for text in more:
        name, equals, setting = text.partition("=")
        if not equals or not re.fullmatch(r"\w[\w.-]*", name):
            raise UsageError(
                f"--arm {text!r}: write it as NAME=KIND:VALUE, e.g. C=threads:2, or NAME= for an "
                "arm with nothing set; a name has letters, digits, and . _ -"
            )
        found.setdefault(name, (option_of(name), []))[1].extend(filter(None, [setting]))
    first = {"A": ("--a", list(a)), "B": ("--b", list(b))}
    if not (a or b) and len(found) > 1:
        first = {}
    elif not (a or b) and found:
        del first["B"]
    for name in first.keys() & found.keys():
        first[name][1].extend(found.pop(name)[1])
    named = {**first, **found}
    if len(named) > MOST_ARMS:
        raise UsageError(f"{len(named)} arms are named; a session has {MOST_ARMS} at most")
    return named


def read_arms(
    named: Mapping[str, tuple[str, Sequence[str]]],
    has_operators: bool,
    imports: tuple[str, ...] = (),
) -> dict[str, ArmSpec]:
    """Returns the arms; `has_operators` if operators are named outside them. Raises
    `UsageError`."""
    arms = {name: arm_spec(settings, option) for name, (option, settings) in named.items()}
    for one, other in itertools.combinations(arms, 2):
        if arms[one] == arms[other]:
            how = " and ".join(dict.fromkeys(named[name][0].split()[0] for name in (one, other)))
            raise UsageError(
                f"{one} and {other} are the same ({arms[one]}); set the difference with {how}. "
                f"Every session measures {next(iter(arms))} against itself, so that this needs no "
                "session of its own"
            )
    (first, base), *others = arms.items()
    for name, arm in others:
        if len(arm.operators) != len(base.operators):
            raise UsageError(
                f"{named[first][0]} and {named[name][0]} name different numbers of operators with "
                f"ops:..., {len(base.operators)} and {len(arm.operators)}; name as many in both"
            )
    if base.operators and has_operators:
        raise UsageError("the arms name their operators with ops:...; name no other operators")
    return {
        name: msgspec.structs.replace(arm, imports=imports, name=name) for name, arm in arms.items()
    }


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
    own_modules: bool = False,
    memory: bool = False,
) -> Worker:
    """Returns a worker of an arm, with `threads` if it sets none, pinned to `cpus`. With
    `own_modules` it imports nothing from the working directory; with `memory` it measures that."""
    settings = settings_of(arm, Settings(threads=threads, memory=memory))
    return Worker(
        arm.framework or framework,
        settings,
        environment,
        arm.python,
        reference_work,
        cpus=cpus,
        own_modules=own_modules,
    )


Order = Literal["alternate", "block"]
"""Order in which a session times its arms. `alternate`: their calls alternate within a process,
which is a block. `block`: processes of the arms take turns, two of each in a block."""


def can_alternate(arms: Mapping[str, ArmSpec], common: Selection) -> bool:
    """Whether one process can have all arms."""
    arms_settings = ((arm.framework, settings_of(arm, common.settings)) for arm in arms.values())
    own = [(framework, process_settings(settings)) for framework, settings in arms_settings]
    return not any(arm.python for arm in arms.values()) and all(found == own[0] for found in own)


def choose_order(asked: Order | None, arms: Mapping[str, ArmSpec], common: Selection) -> Order:
    """Returns the order of a session: blocks, unless the user asked for the other. Raises
    `UsageError` if its arms cannot alternate, as no process can have all."""
    if asked == "alternate" and not can_alternate(arms, common):
        raise UsageError(
            "--order alternate: not possible, as the arms differ in what a process has one of: "
            "framework, interpreter, variables, threads; omit it"
        )
    return asked or "block"


COARSE_BLOCKS = 4
"""Blocks of the coarse look. Of ten cases whose blocks scatter by 13 %, one that takes 1.5 times as
long is found in 69 % of the sessions, and one that takes twice as long in 96 %; with three blocks
in 42 % and 93 %, as so few hardly show the scatter (`benchmarks/verdicts/coarse_simulation.py`)."""

COARSE_TIME_S = 0.03
"""Most time of a case in the coarse look: processes differ by more than such a median errs."""


class Threads(NamedTuple):
    """A value of `--threads`."""

    number: int | None
    """Threads that verdicts are measured with; None for the framework's own choice."""
    coarse: bool = False

    def __str__(self) -> str:
        shown = ALL if self.number is None else str(self.number)
        return f"{shown},{ALL}" if self.coarse else shown


def read_threads(text: str) -> Threads:
    """Parses `N`, `all` and `N,all`. Raises `ValueError` for anything else."""
    first, comma, second = (part.strip() for part in text.partition(","))
    count = read_thread_count(first)
    if comma and (count is None or second.lower() != ALL):
        raise ValueError(f"{text!r} is not N, all or N,all")
    return Threads(count, coarse=bool(comma))


class ThreadPlan(NamedTuple):
    """The threads of a session."""

    threads: Threads
    variable: str = ""
    """The inherited variable that sets them instead."""
    why_not_coarse: str = ""
    set_by_arm: bool = False

    def __str__(self) -> str:
        count = self.threads.number
        verdicts = f"{ALL} threads" if count is None else pluralize(count, "thread")
        verdicts = f"the threads of {self.variable}" if self.variable else verdicts
        text = f"Verdicts with {verdicts}{' where an arm sets none' if self.set_by_arm else ''}"
        if self.threads.coarse:
            return f"{text}, and a coarse look with {ALL} threads"
        return f"{text}; no coarse look: {self.why_not_coarse}" if self.why_not_coarse else text


def plan_threads(
    threads: Threads,
    explicit: bool,
    arms: Sequence[ArmSpec],
    environment: Mapping[str, str],
    cores: int,
) -> ThreadPlan:
    """The threads of a session. `threads` are those of the option, `explicit` if the user set it;
    `environment` are the inherited variables, and `cores` is how many this process may use.

    An arm's own threads count before the option, the option before an inherited variable, and that
    before the option's default. Where a variable sets them, no setting may, as it would override
    the variable.
    """
    inherited = next((name for name in THREAD_VARIABLES if environment.get(name)), "")
    variable, set_by_arm = "" if explicit else inherited, any(map(sets_threads, arms))
    why_not = ""
    if threads.coarse and set_by_arm:
        why_not = "an arm sets its threads"
    elif threads.coarse and inherited:
        why_not = f"{inherited} is set"
    elif threads.coarse and cores < 2:
        why_not = "only one core can be used"
    count = None if variable else threads.number
    is_coarse = threads.coarse and not why_not
    return ThreadPlan(Threads(count, is_coarse), variable, why_not, set_by_arm)


def with_all_threads(case: Case) -> Case:
    """The case as the coarse look measures it."""
    own_s = case.settings.max_time_s
    time_s = COARSE_TIME_S if own_s is None else min(own_s, COARSE_TIME_S)
    return with_settings(case, {"threads": None, "max_time_s": time_s})
