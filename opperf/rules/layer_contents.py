"""Contents of the inputs of layers, which are classes without a rule of their own: indices and
classes in range."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

import msgspec

from opperf.dtypes import is_integer
from opperf.model import Argument, Fill, ObjectTarget, TensorSpec
from opperf.rules.dependencies import ascending
from opperf.rules.values import Arguments, below


def _of_build(place: int, name: str) -> Callable[[Arguments, Arguments], int]:
    """Returns a function of an argument of the build."""

    def limit(build: Arguments, inputs: Arguments) -> int:
        value = build.get(str(place), build.get(name))
        return value if isinstance(value, int) else 1

    return limit


def _classes(build: Arguments, inputs: Arguments) -> int:
    """Returns the number of classes that a loss's first input has scores of."""
    scores = inputs.get("0", inputs.get("input"))
    if not isinstance(scores, TensorSpec) or not scores.shape:
        return 1
    return scores.shape[min(1, len(scores.shape) - 1)]


LIMITS: Mapping[str, Callable[[Arguments, Arguments], int]] = {
    "torch.nn.Embedding": _of_build(0, "num_embeddings"),
    "torch.nn.EmbeddingBag": _of_build(0, "num_embeddings"),
    "gluon.nn.Embedding": _of_build(0, "input_dim"),
    "torch.nn.CrossEntropyLoss": _classes,
    "torch.nn.NLLLoss": _classes,
    "torch.nn.MultiMarginLoss": _classes,
}
"""The limit of the integers that a layer takes, by the end of its path."""

OFFSETS = ("1", "offsets")
"""The input of `EmbeddingBag` that says where bags begin, in order."""


def _bags(build: Arguments, inputs: Arguments, count: int) -> Fill:
    """Returns where so many bags begin, which have as many indices each."""
    indices = inputs.get("0", inputs.get("input"))
    whole = indices.size if isinstance(indices, TensorSpec) else count
    if build.get("include_last_offset"):
        return ascending(0, whole)
    return Fill("sequence") if whole == count else ascending(0, (count - 1) * whole // count)


Known = TypeVar("Known")


def known_of(table: Mapping[str, Known], path: str) -> Known | None:
    """Returns what a table by the ends of paths has for a path; None if it has nothing."""
    return next((table[end] for end in table if f".{path}".endswith(f".{end}")), None)


def layer_contents(target: ObjectTarget, arguments: Arguments) -> Arguments:
    """Returns a layer's inputs with contents that suit it in tensors of integers without a
    fill."""
    limit = None if target.file else known_of(LIMITS, target.path)
    if limit is None:
        return arguments
    size = max(1, limit(target.arguments, arguments))

    def change(name: str, value: Argument) -> Argument:
        if not isinstance(value, TensorSpec) or value.fill != Fill() or not is_integer(value.dtype):
            return value
        is_offsets = target.path.endswith("EmbeddingBag") and name in OFFSETS
        fill = _bags(target.arguments, arguments, value.size) if is_offsets else below(size)
        return msgspec.structs.replace(value, fill=fill)

    return {name: change(name, value) for name, value in arguments.items()}
