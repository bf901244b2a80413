"""What the scripts of all frameworks share: the tensors they make, and how values are written."""

from __future__ import annotations

import keyword
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from opperf.frameworks.fill import TEMPORARIES, literal, seed_at, storage_spec
from opperf.model import Argument, Case, TensorSpec
from opperf.model import Mapping as Entries

Names = dict[int, str]
"""Expression in the script for each tensor, by its identity."""


class Made(NamedTuple):
    """A tensor that a script makes."""

    name: str
    """Its variable."""
    spec: TensorSpec
    seed: int
    device: str
    tensor: Any
    """The very tensor that a call is bound to; None for a storage, which only others name."""
    storage: str = ""
    """Variable of the storage that it is a view of; empty if it is filled itself."""


def variable(place: str) -> str:
    """What a script calls the tensor at a place: `name`, or `name.index` in a list."""
    first, *rest = place.split(".")
    name = first + "_".join(rest)
    return f"{name}_" if keyword.iskeyword(name) or name in TEMPORARIES else name


def tensors(case: Case, arguments: Mapping[str, Any]) -> list[Made]:
    """Every tensor a script makes, from the values made for the case: a storage before the first
    view of it."""
    made: dict[str, Made] = {}
    for name, argument in case.arguments.items():
        for place, spec, tensor in _places(name, argument, arguments[name]):
            if spec.fill.distribution == "same":
                continue
            seed = seed_at(case.settings.seed, spec.fill.of or place)
            one = Made(variable(place), spec, seed, spec.device or case.settings.device, tensor)
            stored = storage_spec(case, spec)
            if stored is not None:
                storage = variable(f"storage.{spec.storage or one.name}")
                made.setdefault(storage, one._replace(name=storage, spec=stored, tensor=None))
                one = one._replace(storage=storage)
            made[one.name] = one
    return list(made.values())


def _places(place: str, argument: Argument, made: Any) -> Iterator[tuple[str, TensorSpec, Any]]:
    """Each tensor of an argument: where it is, its spec, and the tensor made from it."""
    if isinstance(argument, TensorSpec):
        yield place, argument, made
    elif isinstance(argument, tuple):
        for index, element in enumerate(argument):
            yield from _places(f"{place}.{index}", element, made[index])
    elif isinstance(argument, Entries):
        for key, value in argument.entries.items():
            yield from _places(f"{place}.{key}", value, made[key])


def written(value: Any, names: Names, other: Callable[[Any], str] = literal) -> str:
    """An argument of a call as text; `other` writes what is neither a tensor nor a list."""
    if id(value) in names:
        return names[id(value)]
    if isinstance(value, list):
        return f"[{', '.join(written(element, names, other) for element in value)}]"
    return other(value)
