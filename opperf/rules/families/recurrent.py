"""Recurrent layers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.configurations import PHASE, WHY
from opperf.rules.registering import Families
from opperf.rules.shapes import Shape
from opperf.rules.sizes import Preset
from opperf.rules.values import ZEROS, between, tensor, tensors

FAMILIES = Families()

GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}
"""Number of gates by operation: its weights have as many rows for each unit."""

WITHIN = between(-1.0, 1.0)
"""Within a sequence: with its first zeros, the gradient of a state's weights in a step is zero."""


class Network(NamedTuple):
    """A stack of recurrent layers, by default those of a small language model."""

    why: str
    kind: str
    units: int = 256
    layers: int = 2
    directions: int = 1
    steps: int = 32
    """Length of a sequence at the default size."""
    sequences: int = 32
    """Number of sequences at the default size."""
    width: int | None = None
    """Width of the input; None for that of the state."""
    one_step: bool = False
    """Whether a network that predicts makes one step after the other, for one sequence."""

    @property
    def weights(self) -> list[Shape]:
        """Shape of each matrix: of the input and of the state, direction by direction."""
        rows = GATES[self.kind] * self.units
        shapes: list[Shape] = []
        for layer in range(self.layers):
            inputs = self.input if layer == 0 else self.units * self.directions
            shapes += [(rows, inputs), (rows, self.units)] * self.directions
        return shapes

    @property
    def input(self) -> int:
        """Width of the input."""
        return self.width or self.units

    @property
    def limit(self) -> float:
        """The usual bound of initial weights, with which states do not grow step by step."""
        return 1 / math.sqrt(self.units)


SMALL = {
    "rnn_relu": "plain units with ReLU over a batch of texts: no gates",
    "rnn_tanh": "plain units with tanh over a batch of texts: no gates, a costlier function",
    "lstm": "LSTM units over a batch of texts: four gates, and a cell beside the state",
    "gru": "GRU units over a batch of texts: three gates, and no cell",
}
"""By operation, what a network of the default extents is."""

AWD_LSTM = Network(
    "AWD-LSTM, the last layer", "lstm", 400, layers=1, steps=35, sequences=8, width=1150
)
NETWORKS = (
    *(Network(why, kind) for kind, why in SMALL.items()),
    AWD_LSTM,
    Network("Tacotron 2, the encoder", "lstm", 256, layers=1, directions=2, sequences=8, width=512),
    Network("GNMT, its decoder's layer: one word of a text", "lstm", 1024, layers=1, one_step=True),
    Network("Deep Speech 2, one way, few frames", "gru", 800, layers=1, steps=12, sequences=8),
    Network("Tacotron, the end of the encoder", "gru", 128, layers=1, directions=2, sequences=8),
    Network("a small language model that generates one word", "gru", one_step=True),
)
"""Of wide layers there are fewer steps and sequences, as a step costs the square of the width."""


@FAMILIES.operation(*GATES)
def recurrent(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Layers over a batch of sequences, whose length grows with the size; the width does not."""
    for network in NETWORKS:
        if network.kind != operation.name:
            continue
        steps, batch = size.extent(network.steps, least=4), size.samples(network.sequences)
        if network.one_step:
            steps, batch = 1, 1
        stacked = network.layers * network.directions
        first = WITHIN if network.one_step else ZEROS
        states = tensor(stacked, batch, network.units, fill=first)
        initial = between(-network.limit, network.limit)
        yield {
            WHY: network.why,
            **({PHASE: "predict"} if network.one_step else {}),
            "data": tensor(steps, batch, network.input),
            "weights": tensors(tensor(*shape, fill=initial) for shape in network.weights),
            "biases": tensors(tensor(shape[0], fill=initial) for shape in network.weights),
            "state": states,
            **({"cell": states} if network.kind == "lstm" else {}),
            "bidirectional": network.directions == 2,
        }
