"""Inputs that a user's function returns: a dict of arguments, or a list of such dicts; or a table
of them, by the name of what is measured. A case refers to each array by its place in what the
function returns, and has its digest. A worker calls the function again, with random numbers seeded,
and checks the digest."""

from __future__ import annotations

import functools
import itertools
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from opperf.errors import OpperfError, UsageError, one_line
from opperf.frameworks.base import CallArguments
from opperf.frameworks.capabilities import Framework
from opperf.frameworks.user_code import call_in_script, object_of, target_at
from opperf.model import Case, Settings, Target, TensorSpec

OPTION = "--inputs"

FUNCTION: Final = "function"
"""Distribution of a tensor that a user's function returns."""

PLACE = re.compile(
    r"(?P<function>.+?)(?:\['(?P<entry>.+)'\])?\(\)\[(?P<index>\d+)\]\['(?P<name>.+?)'\]"
    r"(?:\[(?P<at>\d+)\])?"
)
"""Place of an array among what a function returns, in Python: `make()[0]['data']`, or that of a
table, `INPUTS['kernels:gelu']()[0]['data']`."""

VARIABLE = "inputs"


class Configuration(NamedTuple):
    """The arguments of one case."""

    arguments: CallArguments
    name: str
    """Its parameters, `n=10, dtype='f4'`, or its number."""


def entry_of(framework: Framework, settings: Settings, names: Iterable[str]) -> str | None:
    """Returns the entry of the settings' table that is for a target of any of these names; an empty
    one for a function, whose inputs are for all; None where the table has none. Not to be called in
    the scope of a case. Raises as `configurations`."""
    _, declared = _declared(framework, settings)
    if not isinstance(declared, Mapping):
        return ""
    full = [f".{_dotted(name)}" for name in names]
    ends = {
        key: [end for name in full for mark in ".:" if name.endswith(end := mark + _dotted(key))]
        for key in declared
    }
    return max((key for key in ends if ends[key]), key=len, default=None)


def _dotted(name: str) -> str:
    """Returns the name of a function with its file's as that of a module."""
    file, colon, function = name.replace(".py:", ":").rpartition(":")
    return file.replace("/", ".") + colon + function


def configurations(
    framework: Framework, settings: Settings, entry: str = ""
) -> list[Configuration]:
    """Returns the arguments of each configuration, as the settings' function returns them under
    device, dtype and seed; `entry` is that of a table. A function with `params`, as asv has them,
    is called with each combination. Not to be called in the scope of a case. Raises `UsageError` if
    the function fails or returns anything else, and `UnknownOperatorError` if there is none."""
    seed = settings.seed
    # The manager imports this module and needs no NumPy.
    import numpy as np

    target, declared = _declared(framework, settings)
    reference = settings.input_function + (f"[{entry!r}]" if entry else "")
    declared = declared[entry] if entry else declared
    own = Settings(device=settings.device, dtype=settings.dtype, seed=seed)
    found: list[Configuration] = []
    try:
        with framework.scope(Case(target, {}, own)):
            random.seed(seed)
            np.random.seed(seed % NUMPY_SEEDS)
            framework.processes.seed(seed)
            for values in _combinations(declared):
                made = declared(*values) if callable(declared) else declared
                found += _configurations(reference, made, declared, values, len(found))
    except OpperfError:
        raise
    except Exception as error:
        raise UsageError(
            f"{OPTION} {reference}: the function raised "
            f"{one_line(f'{type(error).__name__}: {error}')}"
        ) from error
    return found


def _declared(framework: Framework, settings: Settings) -> tuple[Target, Any]:
    """Returns the function or table of the settings, and where it is."""
    reference = settings.input_function
    target = target_at(framework.name, reference)
    if target is None:
        raise UsageError(
            f"{OPTION} {reference}: write a function, or a dict by function, with its file or "
            "module, as kernels.py:make"
        )
    return target, object_of(target)


def _combinations(declared: Any) -> Iterator[tuple[Any, ...]]:
    params: Sequence[Any] = getattr(declared, "params", ())
    several = all(isinstance(values, (list, tuple)) for values in params)
    return itertools.product(*(params if several else (params,)))


def _configurations(
    reference: str, made: Any, declared: Any, values: Sequence[Any], first: int
) -> Iterator[Configuration]:
    """Yields what a function returned for the values of its parameters."""
    listed = [made] if isinstance(made, Mapping) else made
    if not isinstance(listed, (list, tuple)) or not listed or not all(map(_is_arguments, listed)):
        raise UsageError(
            f"{OPTION} {reference}: the function returned {one_line(repr(made), SHOWN)}; it has to "
            "return a dict of arguments by name, or a list of such dicts"
        )
    names = getattr(declared, "param_names", [f"param{at + 1}" for at in range(len(values))])
    shown = ", ".join(f"{name}={value!r}" for name, value in zip(names, values, strict=False))
    for at, arguments in enumerate(listed):
        yield Configuration(arguments, shown or f"configuration {first + at}")


NUMPY_SEEDS = 2**32
"""Number of seeds that NumPy's global generator takes."""

SHOWN = 60
"""Most characters of a wrong result in an error."""


def _is_arguments(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(name, str) for name in value)


def place_of(reference: str, entry: str, index: int, name: str, element: int | None = None) -> str:
    """Returns the place of an array, which `PLACE` reads."""
    function = reference.rpartition(":")[2] + (f"['{entry}']" if entry else "")
    return f"{function}()[{index}][{name!r}]" + ("" if element is None else f"[{element}]")


def load_inputs(framework: Framework, case: Case) -> None:
    """Calls the function that returns a case's arrays, if any, once. Raises as `configurations`."""
    for _, spec in case.tensors():
        if spec.fill.distribution == FUNCTION:
            _loaded(framework, case.settings, _place(spec)["entry"] or "")


def array_of(framework: Framework, settings: Settings, spec: TensorSpec) -> Any:
    """Returns the array of a case's tensor as it is, once `load_inputs` was called. Raises as
    `configurations`, and `UsageError` if the function now returns another array there."""
    match = _place(spec)
    made = _loaded(framework, settings, match["entry"] or "")
    reference = settings.input_function
    try:
        value = made[int(match["index"])].arguments[match["name"]]
        value = value[int(match["at"])] if match["at"] else value
        described = framework.arrays.describe(value)
    except (LookupError, TypeError):
        described = None
    if described is None or described.fill.digest != spec.fill.digest:
        changed = f"{OPTION} {reference}: {spec.fill.data} has changed since the run was planned"
        if spec.fill.dtype not in ("", settings.dtype):
            raise UsageError(
                f"{changed}, in {spec.fill.dtype}; to run it with --dtype {settings.dtype}, name "
                f"the function and {OPTION} {reference}, not the run file"
            )
        raise UsageError(f"{changed}; seed its random numbers, and run again")
    return value


def _place(spec: TensorSpec) -> re.Match[str]:
    match = PLACE.fullmatch(str(spec.fill.data))
    assert match is not None
    return match


def _loaded(framework: Framework, settings: Settings, entry: str) -> list[Configuration]:
    """Returns the `configurations`, which are made once for the tensors of all cases."""
    key = settings.input_function, settings.seed, settings.device, settings.dtype, entry
    return _cached_configurations(framework, *key)


@functools.lru_cache(maxsize=1)
def _cached_configurations(
    framework: Framework, reference: str, seed: int, device: str, dtype: str, entry: str
) -> list[Configuration]:
    made_with = Settings(input_function=reference, seed=seed, device=device, dtype=dtype)
    return configurations(framework, made_with, entry)


def in_script(spec: TensorSpec, settings: Settings, seeding: str) -> TensorSpec:
    """Returns a tensor with all that its script needs to call the function."""
    if spec.fill.distribution != FUNCTION:
        return spec
    data = (settings.input_function, settings.seed, spec.fill.data, seeding)
    return msgspec.structs.replace(spec, fill=msgspec.structs.replace(spec.fill, data=data))


def script_code(spec: TensorSpec) -> tuple[str, str]:
    """Returns the lines of a script that call the function, and the expression of the array."""
    reference, seed, place, seeding = spec.fill.data
    target = target_at("", reference)
    assert target is not None
    imported, function = call_in_script(target)
    entry, _, index = str(place).removeprefix(reference.rpartition(":")[2]).partition("()")
    lines = [
        "import itertools",
        "import random",
        *imported,
        # The file may draw random numbers, too.
        f"{VARIABLE} = {function}{entry}",
        f"random.seed({seed})",
        f"np.random.seed({seed % NUMPY_SEEDS})",
        *filter(None, [seeding]),
        MAKE_IN_SCRIPT,
    ]
    return "\n".join(lines), VARIABLE + index


MAKE_IN_SCRIPT = f"""\
params = getattr({VARIABLE}, "params", [])
params = params if all(isinstance(values, (list, tuple)) for values in params) else [params]
{VARIABLE} = [
    {VARIABLE}(*values) if callable({VARIABLE}) else {VARIABLE}
    for values in itertools.product(*params)
]
{VARIABLE} = [
    arguments
    for made in {VARIABLE}
    for arguments in (made if isinstance(made, (list, tuple)) else [made])
]"""
"""Lines of a script that make the list of all configurations, as `configurations` does."""
