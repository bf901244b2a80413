"""Parts of scripts that all frameworks share: the tensors, and the text of values."""

from __future__ import annotations

import keyword
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

from opperf.frameworks.base import CallArguments
from opperf.frameworks.fill import TEMPORARIES, Code, seed_at, storage_spec
from opperf.frameworks.literals import literal
from opperf.frameworks.user_inputs import FUNCTION, in_script
from opperf.model import Argument, Case, TensorSpec
from opperf.model import Mapping as Entries

Names = dict[int, str]
"""Expression in the script for each tensor, by its identity."""


class ScriptTensor(NamedTuple):
    """A tensor that a script makes."""

    name: str
    spec: TensorSpec
    seed: int
    device: str
    tensor: Any
    """The tensor that the call is bound to; None for a storage, of which tensors are views."""
    storage: str = ""
    """Variable of the storage of which it is a view, if it is one."""

    @property
    def has_contents(self) -> bool:
        """Whether it has contents of its own, and not those of its storage."""
        return not self.storage or self.spec.fill.distribution == FUNCTION


def definitions(codes: Iterable[Code]) -> list[str]:
    """Returns the lines that define the functions which a script's tensors are made with."""
    texts = dict.fromkeys(code.definition for code in codes if code.definition)
    return [line for text in texts for line in ("", *text.splitlines())]


def variable(place: str) -> str:
    """Returns the variable of the tensor at a place: `name`, or `name.index` in a list."""
    first, *rest = place.split(".")
    name = first + "_".join(rest)
    return f"{name}_" if keyword.iskeyword(name) or name in TEMPORARIES else name


def tensors(case: Case, arguments: CallArguments, seeding: str = "") -> list[ScriptTensor]:
    """Returns every tensor of a script, a storage before its first view. `arguments` are the values
    made for the case, `seeding` is the line that seeds the framework's own random numbers."""
    made: dict[str, ScriptTensor] = {}
    for name, argument in case.arguments.items():
        for place, spec, tensor in _places(name, argument, arguments[name]):
            if spec.fill.distribution == "same":
                continue
            seed = seed_at(case.settings.seed, spec.fill.of or place)
            one = ScriptTensor(
                variable(place), spec, seed, spec.device or case.settings.device, tensor
            )
            # The function returns views already, unless they are in another dtype.
            is_made = spec.fill.distribution != FUNCTION or bool(spec.fill.dtype)
            stored = storage_spec(case, spec) if is_made else None
            if stored is not None:
                storage = variable(f"storage.{spec.storage or one.name}")
                made.setdefault(storage, one._replace(name=storage, spec=stored, tensor=None))
                one = one._replace(storage=storage)
            shown = in_script(one.spec, case.settings, seeding)
            made[one.name] = one._replace(spec=shown)
    return list(made.values())


def _places(place: str, argument: Argument, made: Any) -> Iterator[tuple[str, TensorSpec, Any]]:
    if isinstance(argument, TensorSpec):
        yield place, argument, made
    elif isinstance(argument, tuple):
        for index, element in enumerate(argument):
            yield from _places(f"{place}.{index}", element, made[index])
    elif isinstance(argument, Entries):
        for key, value in argument.entries.items():
            yield from _places(f"{place}.{key}", value, made[key])


def render(value: Any, names: Names, other: Callable[[Any], str] = literal) -> str:
    """Returns an argument as text; `other` renders what is neither a tensor, a list nor a dict."""
    if id(value) in names:
        return names[id(value)]
    if isinstance(value, list):
        return f"[{', '.join(render(element, names, other) for element in value)}]"
    if isinstance(value, dict):
        entries = (f"{key!r}: {render(one, names, other)}" for key, one in value.items())
        return f"{{{', '.join(entries)}}}"
    return other(value)


def call_text(call: partial[Any], names: Names, other: Callable[[Any], str] = literal) -> str:
    """Returns the arguments of a call as text; `other` is that of `render`."""
    words = [render(value, names, other) for value in call.args]
    words += [f"{name}={render(value, names, other)}" for name, value in call.keywords.items()]
    return ", ".join(words)


def names_of(made: Iterable[ScriptTensor]) -> Names:
    """Returns the variables of the tensors that a call is bound to."""
    return {id(tensor.tensor): tensor.name for tensor in made if tensor.tensor is not None}
