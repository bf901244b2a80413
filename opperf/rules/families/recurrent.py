"""Recurrent layers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.engine import Families
from opperf.rules.shapes import Shape
from opperf.rules.sizes import Preset
from opperf.rules.values import ZEROS, between, tensor, tensors

FAMILIES = Families()

GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}
"""Number of gates by operation: its weights have as many rows for each unit."""


class Network(NamedTuple):
    """A stack of recurrent layers, by default those of a small language model."""

    kind: str
    units: int = 256
    layers: int = 2
    directions: int = 1
    steps: int = 64
    """Length of a sequence at the default size."""

    @property
    def weights(self) -> list[Shape]:
        """Shape of each matrix: of the input and of the state, direction by direction."""
        rows = GATES[self.kind] * self.units
        shapes: list[Shape] = []
        for layer in range(self.layers):
            inputs = self.units if layer == 0 else self.units * self.directions
            shapes += [(rows, inputs), (rows, self.units)] * self.directions
        return shapes

    @property
    def limit(self) -> float:
        """The usual bound of initial weights, with which states do not grow step by step."""
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
"""Networks of each kind, one of both directions, and layers of larger models."""


@FAMILIES.operation(*GATES)
def recurrent(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Recurrent layers over a batch of sequences. The sequences' length grows with the size, the
    layers' width does not."""
    for network in NETWORKS:
        if network.kind != operation.name:
            continue
        steps = size.extent(network.steps, least=4)
        states = tensor(network.layers * network.directions, size.batch, network.units, fill=ZEROS)
        initial = between(-network.limit, network.limit)
        yield {
            "data": tensor(steps, size.batch, network.units),
            "weights": tensors(tensor(*shape, fill=initial) for shape in network.weights),
            "biases": tensors(tensor(shape[0], fill=initial) for shape in network.weights),
            "state": states,
            **({"cell": states} if network.kind == "lstm" else {}),
            "bidirectional": network.directions == 2,
        }
