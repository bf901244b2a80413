"""Layers by path, which are built before they are called: the arguments of their constructors
follow from the shapes that a user gives their inputs."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

from opperf.errors import OpperfError, UnsupportedError
from opperf.frameworks import Framework
from opperf.frameworks.user_code import kinds_of, parameters_of
from opperf.model import (
    Argument,
    CallableTarget,
    FileTarget,
    Fill,
    ObjectTarget,
    Target,
    TensorSpec,
)
from opperf.ranges import UNNAMED
from opperf.rules.contents import known_of, layer_contents
from opperf.rules.engine import Inputs
from opperf.rules.ranges import Shape
from opperf.rules.values import below
from opperf.sources.overrides import Accepted, Overrides, only_input

ORIGIN = "shape:layer"

KERNEL_SIZE = 3
"""Size of a convolution's kernel in most networks for images."""

MAX_GROUPS, MAX_HEADS = 32, 8
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
    "num_groups": lambda shape: math.gcd(MAX_GROUPS, shape[min(1, len(shape) - 1)]),
    "kernel_size": lambda shape: KERNEL_SIZE,
    "in_features": _last,
    "out_features": _last,
    "in1_features": _last,
    "in2_features": _last,
    "input_size": _last,
    "hidden_size": _last,
    "embed_dim": _last,
    "d_model": _last,
    "num_heads": lambda shape: math.gcd(MAX_HEADS, shape[-1]),
    "nhead": lambda shape: math.gcd(MAX_HEADS, shape[-1]),
    "num_embeddings": lambda shape: VOCABULARY,
    "embedding_dim": lambda shape: EMBEDDING,
    "input_dim": lambda shape: VOCABULARY,
    "output_dim": lambda shape: EMBEDDING,
    "units": _last,
    "channels": _channels,
}
"""Arguments of constructors that follow from the shape of the first input, by name: widths are the
last extent, channels the second; of what the shape leaves open, outputs are as wide as inputs."""

INDICES = {
    "torch.nn.Embedding": ("input",),
    "torch.nn.EmbeddingBag": ("input", "offsets"),
    "torch.nn.NLLLoss": ("target",),
    "gluon.nn.Embedding": ("x",),
}
"""Inputs of layers that are indices, by the end of the layer's path."""

TOKENS = frozenset(
    {
        *("tokens", "token_ids", "input_ids", "decoder_input_ids", "ids", "idx", "indices"),
        *("token_type_ids", "position_ids"),
    }
)
"""Names of inputs of a user's layers that are indices."""

IN_ANY_TABLE = below(2)
"""Indices that are in range, however many entries there are."""


class Layer(NamedTuple):
    """A class of layers."""

    path: str
    built: type
    inputs: dict[str, bool]
    """Names of what it is called with, each with whether it is required."""
    file: str = ""
    """The user's file that has it."""

    @property
    def options(self) -> dict[str, bool]:
        """Names of the constructor's arguments, likewise: with those of the base classes that it
        passes on."""
        found: dict[str, bool] = {}
        passes_all = True
        for base in self.built.__mro__:
            if "__init__" in vars(base):
                own = parameters_of(base.__init__)  # type: ignore[misc]
                # What a base requires is set by a class that passes on named arguments alone.
                found = {n: required and passes_all for n, required in own.items()} | found
                kinds = kinds_of(base.__init__)  # type: ignore[misc]
                if inspect.Parameter.VAR_KEYWORD not in kinds:
                    break
                passes_all = inspect.Parameter.VAR_POSITIONAL in kinds
        return {name: required for name, required in found.items() if name not in IMPLIED}

    @property
    def accepted(self) -> Accepted:
        """Names that a user may set."""
        inputs = tuple(self.inputs)
        return Accepted((*inputs, *self.options), inputs, tuple(self.aliases))

    @property
    def aliases(self) -> dict[str, str]:
        """Own names of inputs that a user may name otherwise."""
        only = only_input(name for name, required in self.inputs.items() if required)
        return {} if only is None else {UNNAMED: only}


IMPLIED = ("mode",)
"""Arguments that a class sets itself in the constructor of its base, as LSTM does."""


def find_layer(framework: Framework, target: Target) -> Layer | None:
    """Returns the class of layers that a target is: its objects are called. Of a framework's own
    classes only layers count, of a user's all. None for any other target."""
    if isinstance(target, FileTarget):
        named = ObjectTarget(target.framework, target.function, file=target.file)
    elif isinstance(target, CallableTarget):
        named = ObjectTarget(target.framework, target.path)
    else:
        return None
    try:
        found = framework.objects.constructor(named)
    except OpperfError:
        return None
    if not isinstance(found, type):
        return None
    is_own = bool(named.file) or ":" in named.path
    inputs = (
        framework.objects.call_parameters(found)
        if is_own or framework.objects.is_layer(found)
        else None
    )
    return None if inputs is None else Layer(named.path, found, inputs, named.file)


def layer_inputs(layer: Layer, target: ObjectTarget, overrides: Overrides, dtype: str) -> Inputs:
    """Returns the inputs of a layer in a user's shapes, with indices in range; required ones
    without a shape have that of the first."""
    shapes = {name: overrides.shapes[name] for name in layer.inputs if name in overrides.shapes}
    first = next(iter(shapes.values()))
    names = [name for name, required in layer.inputs.items() if required or name in shapes]
    tokens = TOKENS.intersection(names) if layer.file else frozenset()
    whole = tokens if layer.file else known_of(INDICES, layer.path) or ()
    arguments: dict[str, Argument] = {
        name: TensorSpec(
            shapes.get(name, first),
            "int64" if name in whole else dtype,
            fill=IN_ANY_TABLE if name in tokens else Fill(),
            gradient=name not in whole,
        )
        for name in names
        if name not in overrides.values
    }
    own = {name: value for name, value in overrides.values.items() if name in layer.inputs}
    return Inputs(layer_contents(target, {**arguments, **own}), ORIGIN, "train")


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
    return ObjectTarget(framework.name, layer.path, built, layer.file)


def needs_shape(layer: Layer) -> str:
    """Returns why a layer has no inputs without a shape."""
    name = next(iter(layer.inputs), "input")
    return f"a layer is built for its input: set its shape with --shape {name}=8x128x768"
