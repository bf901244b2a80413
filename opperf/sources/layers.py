"""Layers by path, which are built before they are called: the arguments of their constructors
follow from the shapes that a user gives their inputs."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from opperf.errors import OpperfError, UnsupportedError
from opperf.frameworks import Framework
from opperf.model import Argument, CallableTarget, ObjectTarget, Target, TensorSpec
from opperf.rules.engine import Inputs
from opperf.rules.layer_contents import layer_contents
from opperf.rules.ranges import Shape
from opperf.sources.overrides import Accepted, Overrides

LAYER = "layer"
"""Category of objects that are built before they are called."""

ORIGIN = "shape:layer"

KERNEL_SIZE = 3
"""Of a convolution, as in most networks of pictures."""

MOST_GROUPS, MOST_HEADS = 32, 8
"""Most groups of channels, those of GroupNorm's paper, and most heads of attention: the largest
divisor of the width that is not larger is taken."""

VOCABULARY, EMBEDDING = 30522, 768
"""Rows and width of a table of embeddings: those of BERT."""


def _last(shape: Shape) -> Argument:
    return shape[-1]


def _channels(shape: Shape) -> Argument:
    return shape[min(1, len(shape) - 1)]


ROLES: Mapping[str, Callable[[Shape], Argument]] = {
    "normalized_shape": lambda shape: (shape[-1],),
    "num_features": _channels,
    "num_channels": _channels,
    "in_channels": _channels,
    "out_channels": _channels,
    "num_groups": lambda shape: math.gcd(MOST_GROUPS, shape[min(1, len(shape) - 1)]),
    "kernel_size": lambda shape: KERNEL_SIZE,
    "in_features": _last,
    "out_features": _last,
    "in1_features": _last,
    "in2_features": _last,
    "input_size": _last,
    "hidden_size": _last,
    "embed_dim": _last,
    "d_model": _last,
    "num_heads": lambda shape: math.gcd(MOST_HEADS, shape[-1]),
    "nhead": lambda shape: math.gcd(MOST_HEADS, shape[-1]),
    "num_embeddings": lambda shape: VOCABULARY,
    "embedding_dim": lambda shape: EMBEDDING,
}
"""Arguments of constructors that follow from the shape of the first input, by name: widths are the
last extent, channels the second; of what the shape leaves open, outputs are as wide as inputs."""

INDICES = {
    "torch.nn.Embedding": ("input",),
    "torch.nn.EmbeddingBag": ("input", "offsets"),
    "torch.nn.NLLLoss": ("target",),
}
"""Inputs of layers that are indices, by the layer's path."""


class Layer(NamedTuple):
    """A class of layers."""

    path: str
    built: type

    @property
    def inputs(self) -> dict[str, bool]:
        """Names of what it is called with, each with whether it is required."""
        return _parameters(getattr(self.built, "forward"))  # noqa: B009

    @property
    def options(self) -> dict[str, bool]:
        """Names of the constructor's arguments, likewise: with those of the base classes that it
        passes on."""
        found: dict[str, bool] = {}
        for base in self.built.__mro__:
            if "__init__" in vars(base):
                found = {**_parameters(base.__init__), **found}  # type: ignore[misc]
                if not _takes_any(base.__init__):  # type: ignore[misc]
                    break
        return {name: required for name, required in found.items() if name not in IMPLIED}

    @property
    def accepted(self) -> Accepted:
        """Names that a user may set."""
        return Accepted((*self.inputs, *self.options), tuple(self.inputs))


IMPLIED = ("mode",)
"""Arguments that a class sets itself in the constructor of its base, as LSTM does."""


def _takes_any(function: Callable[..., Any]) -> bool:
    """Returns whether a function takes arguments of any name, as one does that passes them on."""
    kinds = [one.kind for one in inspect.signature(function).parameters.values()]
    return inspect.Parameter.VAR_KEYWORD in kinds


def _parameters(function: Callable[..., Any]) -> dict[str, bool]:
    _, *own = inspect.signature(function).parameters.values()
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {one.name: one.default is one.empty for one in own if one.kind in named}


def find_layer(framework: Framework, target: Target) -> Layer | None:
    """Returns the class of layers that a path leads to: its objects are called with inputs by name,
    by `forward`. None for any other target."""
    if not isinstance(target, CallableTarget):
        return None
    try:
        found = framework.constructor(ObjectTarget(target.framework, target.path))
    except OpperfError:
        return None
    if not isinstance(found, type) or not callable(getattr(found, "forward", None)):
        return None
    calls = [vars(base)["__call__"] for base in found.__mro__ if "__call__" in vars(base)]
    return Layer(target.path, found) if calls and _takes_any(calls[0]) else None


def layer_inputs(layer: Layer, overrides: Overrides, dtype: str) -> Inputs:
    """Returns the inputs of a layer in a user's shapes; required ones without a shape have that of
    the first."""
    shapes = {name: overrides.shapes[name] for name in layer.inputs if name in overrides.shapes}
    first = next(iter(shapes.values()))
    names = [name for name, required in layer.inputs.items() if required or name in shapes]
    whole = INDICES.get(layer.path, ())
    arguments: dict[str, Argument] = {
        name: TensorSpec(
            shapes.get(name, first),
            "int64" if name in whole else dtype,
            gradient=name not in whole,
        )
        for name in names
        if name not in overrides.values
    }
    own = {name: value for name, value in overrides.values.items() if name in layer.inputs}
    return Inputs({**arguments, **own}, ORIGIN, "train")


def layer_target(framework: Framework, layer: Layer, overrides: Overrides) -> ObjectTarget:
    """Returns what builds the layer for inputs of the user's shapes. Raises `UnsupportedError` for
    a required argument that no shape says."""
    shape = next(overrides.shapes[name] for name in layer.inputs if name in overrides.shapes)
    built: dict[str, Argument] = {}
    for name, required in layer.options.items():
        if name in overrides.values:
            built[name] = overrides.values[name]
        elif required and name in ROLES:
            built[name] = ROLES[name](shape)
        elif required:
            raise UnsupportedError(
                f"{layer.path} is built with {name}, which no shape says; set it with "
                f"--arg {name}=VALUE"
            )
    return ObjectTarget(framework.name, layer.path, built)


def needs_shape(layer: Layer) -> str:
    """Returns why a layer has no inputs without a shape."""
    name = next(iter(layer.inputs), "input")
    return f"a layer is built for its input: set its shape with --shape {name}=8x128x768"


def with_contents(target: ObjectTarget, inputs: Inputs) -> Inputs:
    """Returns the inputs with indices in range."""
    return Inputs(layer_contents(target, inputs.arguments), inputs.origin, inputs.phase)
