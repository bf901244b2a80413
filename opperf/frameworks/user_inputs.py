"""Inputs that a user's function returns: a dict of arguments, or a list of such dicts. A case
refers to each array by its place in what the function returns, and has its digest. A worker calls
the function again, with random numbers seeded, and checks the digest."""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from opperf.errors import OpperfError, UsageError, one_line
from opperf.frameworks.capabilities import Framework
from opperf.frameworks.user_code import call_in_script, function_of, target_at
from opperf.model import Case, Settings, TensorSpec

OPTION = "--inputs"

FUNCTION: Final = "function"
"""Distribution of a tensor that a user's function returns."""

PLACE = re.compile(r"(?P<function>.+)\(\)\[(?P<index>\d+)\]\['(?P<name>.+?)'\](?:\[(?P<at>\d+)\])?")
"""Place of an array among what a function returns, in Python: `make()[0]['data']`."""

VARIABLE = "inputs"


def configurations(framework: Framework, settings: Settings) -> list[Mapping[str, Any]]:
    """Returns the arguments of each configuration, as the settings' function returns them under
    device, dtype and seed. Not to be called in the scope of a case. Raises `UsageError` if the
    function fails or returns anything else, and `UnknownOperatorError` if there is none."""
    reference, seed = settings.input_function, settings.seed
    # The manager imports this module and needs no NumPy.
    import numpy as np

    target = target_at(framework.name, reference)
    if target is None:
        raise UsageError(
            f"{OPTION} {reference}: write a function with its file or module, as kernels.py:make"
        )
    function = function_of(target, _no_path, {})
    own = Settings(device=settings.device, dtype=settings.dtype, seed=seed)
    try:
        with framework.scope(Case(target, {}, own)):
            random.seed(seed)
            np.random.seed(seed % NUMPY_SEEDS)
            framework.seed(seed)
            made = function()
    except OpperfError:
        raise
    except Exception as error:
        raise UsageError(
            f"{OPTION} {reference}: the function raised "
            f"{one_line(f'{type(error).__name__}: {error}')}"
        ) from error
    listed = [made] if isinstance(made, Mapping) else made
    if not isinstance(listed, (list, tuple)) or not listed or not all(map(_is_arguments, listed)):
        raise UsageError(
            f"{OPTION} {reference}: the function returned {one_line(repr(made), SHOWN)}; it has to "
            "return a dict of arguments by name, or a list of such dicts"
        )
    return list(listed)


NUMPY_SEEDS = 2**32
"""Number of seeds that NumPy's global generator takes."""

SHOWN = 60
"""Most characters of a wrong result in an error."""


def _no_path(path: str) -> Any:
    raise UsageError(f"{OPTION} {path}: write a function with its file or module")


def _is_arguments(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(name, str) for name in value)


def place_of(reference: str, index: int, name: str, element: int | None = None) -> str:
    """Returns the place of an array, which `PLACE` reads."""
    function = reference.rpartition(":")[2]
    return f"{function}()[{index}][{name!r}]" + ("" if element is None else f"[{element}]")


def load_inputs(framework: Framework, case: Case) -> None:
    """Calls the function that returns a case's arrays, if any, once. Raises as `configurations`."""
    if any(spec.fill.distribution == FUNCTION for _, spec in case.tensors()):
        _loaded(framework, case.settings)


def array_of(framework: Framework, settings: Settings, spec: TensorSpec) -> Any:
    """Returns the array of a case's tensor as it is, once `load_inputs` was called. Raises as
    `configurations`, and `UsageError` if the function now returns another array there."""
    made = _loaded(framework, settings)
    reference = settings.input_function
    match = PLACE.fullmatch(str(spec.fill.data))
    assert match is not None
    try:
        value = made[int(match["index"])][match["name"]]
        value = value[int(match["at"])] if match["at"] else value
        described = framework.describe(value)
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


def _loaded(framework: Framework, settings: Settings) -> list[Mapping[str, Any]]:
    """Returns the `configurations`, which are made once for the tensors of all cases."""
    key = settings.input_function, settings.seed, settings.device, settings.dtype
    return _cached_configurations(framework, *key)


@functools.lru_cache(maxsize=1)
def _cached_configurations(
    framework: Framework, reference: str, seed: int, device: str, dtype: str
) -> list[Mapping[str, Any]]:
    made_with = Settings(input_function=reference, seed=seed, device=device, dtype=dtype)
    return configurations(framework, made_with)


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
    lines = [
        "import random",
        *imported,
        # The file may draw random numbers, too.
        f"{VARIABLE} = {function}",
        f"random.seed({seed})",
        f"np.random.seed({seed % NUMPY_SEEDS})",
        *filter(None, [seeding]),
        f"{VARIABLE} = {VARIABLE}()",
        f"{VARIABLE} = {VARIABLE} if isinstance({VARIABLE}, (list, tuple)) else [{VARIABLE}]",
    ]
    return "\n".join(lines), VARIABLE + str(place).partition("()")[2]
