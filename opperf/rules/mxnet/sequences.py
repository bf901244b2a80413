"""Sequences, and the parameters of recurrent layers."""

from __future__ import annotations

import itertools
import math
from typing import Any

from opperf.model import Operator
from opperf.operations.uses import Array, Choice, Table, use
from opperf.rules.configurations import WHY
from opperf.rules.families.layers import lengths
from opperf.rules.registering import Families
from opperf.rules.shapes import cube
from opperf.rules.sizes import Preset
from opperf.rules.values import Arguments, call, fixed, tensor, tensors
from opperf.rules.variants import Row, Variants, add_rows


def recurrent_roles(
    data: Array,
    parameters: Array,
    state: Array,
    state_size: int,
    num_layers: int,
    bidirectional: bool,
    mode: str,
    state_cell: Any = None,
) -> dict[str, Any]:
    """The layers' inputs, with parameters split into matrices of weights and vectors of biases."""
    directions = 2 if bidirectional else 1
    assert len(state) == num_layers * directions
    later = 2 * directions * (num_layers - 1)
    widths = [data.shape[2], state_size] * directions
    widths += [directions * state_size, state_size] * (later // 2)
    rows = len(parameters) // (sum(widths) + 2 * len(state))
    sizes = [rows * width for width in widths] + [rows] * len(widths)
    ends = list(itertools.accumulate(sizes))
    parts = [parameters[end - extent : end] for end, extent in zip(ends, sizes, strict=True)]
    count = len(widths)
    matrices = [one.reshape(rows, width) for one, width in zip(parts[:count], widths, strict=True)]
    cell = {} if state_cell is None else {"cell": state_cell}
    made = {"data": data, "weights": matrices, "biases": parts[count:], "state": state}
    return {**made, "bidirectional": bidirectional, **cell}


def recurrent_arguments(operator: Operator, roles: dict[str, Any]) -> dict[str, Any]:
    """The layers' arguments, weights and biases in one vector, and the sizes that MXNet takes."""
    tensors = (*roles["weights"], *roles["biases"])
    state = roles["state"]
    directions = 2 if roles["bidirectional"] else 1
    cell = {"state_cell": roles["cell"]} if "cell" in roles else {}
    return {
        "data": roles["data"],
        "parameters": tensor(sum(math.prod(spec.shape) for spec in tensors), fill=tensors[0].fill),
        "state": state,
        **cell,
        "state_size": state.shape[2],
        "num_layers": state.shape[0] // directions,
        "bidirectional": roles["bidirectional"],
    }


MODES = {
    name: use(name, recurrent_roles, to_arguments=recurrent_arguments)
    for name in ("rnn_relu", "rnn_tanh", "lstm", "gru")
}
OPERATIONS: Table = {"RNN": Choice("mode", MODES)}

FAMILIES = Families()

TRAIN_PHASE = frozenset({"RNN"})

LAYERS = 2
GATES = 4
"""Of an LSTM."""


def parameters(size: Preset) -> Arguments:
    """The weights of the input and of the state, and the biases of both, layer by layer."""
    units = size.extent(256)
    weights, biases = tensor(GATES * units * units), tensor(GATES * units)
    layers = tensors([weights] * 2 * LAYERS + [biases] * 2 * LAYERS)
    why = "the parameters of a small language model of LSTM units, joined before each step"
    return {WHY: why, "data": layers, "num_args": len(layers), "dim": 0}


REPLACING: dict[str, Row] = {"_rnn_param_concat": parameters}
add_rows(FAMILIES.add, REPLACING, replaces="what it joins are the weights of a recurrent layer")

VARIANTS: dict[str, Variants] = {
    # Those of one length take no gradient, which writes out of bounds in MXNet 1.9.1 and 2.0.
    "SequenceLast": lambda size: {
        "a length for each sequence: its last word before the padding, for a classifier": call(
            data=tensor(*cube(size)), sequence_length=lengths(size), use_sequence_length=True
        ),
        "sequences of one length, of which the last step is copied": call(data=fixed(*cube(size))),
        "batches along the first axis, as data loaders'": call(data=fixed(*cube(size)), axis=1),
    }
}
add_rows(FAMILIES.add, VARIANTS)
