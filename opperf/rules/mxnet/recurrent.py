"""Recurrent layers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from opperf.model import Operator
from opperf.rules.engine import Families
from opperf.rules.sizes import Preset
from opperf.rules.values import ZEROS, Arguments, between, tensor

FAMILIES = Families()

GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}
"""Mode and how many matrices it has for each that a plain recurrent layer has."""


class Network(NamedTuple):
    """A stack of recurrent layers: a small language model's, if nothing else is said."""

    mode: str
    units: int = 256
    layers: int = 2
    directions: int = 1
    steps: int = 64
    """Length of a sequence at the default size."""

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """Shape of each parameter tensor: all weights, then all biases, as MXNet has them in
        one vector."""
        rows = GATES[self.mode] * self.units
        weights: list[tuple[int, ...]] = []
        for layer in range(self.layers):
            inputs = self.units if layer == 0 else self.units * self.directions
            weights += [(rows, inputs), (rows, self.units)] * self.directions
        return weights + [(rows,)] * len(weights)

    @property
    def parameters(self) -> int:
        """Length of the vector of all parameters."""
        return sum(math.prod(shape) for shape in self.shapes)

    @property
    def limit(self) -> float:
        """Bound of initial weights, as usual; it keeps states from growing step by step."""
        return 1 / math.sqrt(self.units)


NETWORKS = (
    *map(Network, GATES),
    Network("lstm", directions=2),
    # The medium model of Zaremba et al., "Recurrent Neural Network Regularization", on Penn
    # Treebank.
    Network("lstm", units=650, steps=35),
    # A layer of GNMT's encoder and decoder, on sentences of about the usual length.
    Network("lstm", units=1024, layers=1, steps=50),
)
"""Each mode, both directions, and layers of larger models."""


@FAMILIES.add("RNN")
def rnn(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Recurrent layers over a batch of sequences. Time grows with the size, width does not."""
    for network in NETWORKS:
        steps = size.extent(network.steps, least=4)
        states = (network.layers * network.directions, size.batch, network.units)
        memory: Arguments = (
            {"state_cell": tensor(*states, fill=ZEROS)} if network.mode == "lstm" else {}
        )
        yield {
            "data": tensor(steps, size.batch, network.units),
            "parameters": tensor(network.parameters, fill=between(-network.limit, network.limit)),
            "state": tensor(*states, fill=ZEROS),
            **memory,
            "state_size": network.units,
            "num_layers": network.layers,
            "bidirectional": network.directions == 2,
            "mode": network.mode,
        }
