"""Sequences, and the parameters of recurrent layers."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Operator
from opperf.rules.configurations import WHY
from opperf.rules.families.layers import lengths
from opperf.rules.registering import Families
from opperf.rules.shapes import cube
from opperf.rules.sizes import Preset
from opperf.rules.values import Arguments, fixed, tensor, tensors

FAMILIES = Families()

LAYERS = 2
GATES = 4
"""Of an LSTM."""


@FAMILIES.add("_rnn_param_concat")
def parameters(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The weights of the input and of the state, and the biases of both, layer by layer."""
    units = size.extent(256)
    rows = GATES * units
    weights, biases = tensor(rows * units), tensor(rows)
    layers = [weights] * 2 * LAYERS + [biases] * 2 * LAYERS
    yield {
        WHY: "the parameters of a small language model of LSTM units, joined before each step",
        "data": tensors(layers),
        "num_args": len(layers),
        "dim": 0,
    }


@FAMILIES.add("SequenceLast")
def last(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Sequences of different lengths, and of one length. The latter take no gradient: its
    computation writes out of bounds in MXNet 1.9.1 and 2.0, which crashes."""
    yield {
        WHY: "a length for each sequence: its last word before the padding, for a classifier",
        "data": tensor(*cube(size)),
        "sequence_length": lengths(size),
        "use_sequence_length": True,
    }
    yield {
        WHY: "sequences of one length, of which the last step is copied",
        "data": fixed(*cube(size)),
    }
    yield {
        WHY: "the same with batches along the first axis, as data loaders make them",
        "data": fixed(*cube(size)),
        "axis": 1,
    }
