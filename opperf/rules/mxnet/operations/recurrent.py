"""MXNet's recurrent layers, which take all weights, and then all biases, in one vector."""

from __future__ import annotations

import itertools
import math
from typing import Any

from opperf.model import Operator
from opperf.operations.uses import Array, Choice, Table, use
from opperf.rules.values import tensor


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
    """The layers' inputs, with the vector of parameters split into matrices of weights and vectors
    of biases."""
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
    return {
        "data": data,
        "weights": matrices,
        "biases": parts[count:],
        "state": state,
        "bidirectional": bidirectional,
        **cell,
    }


def recurrent_arguments(operator: Operator, roles: dict[str, Any]) -> dict[str, Any]:
    """The layers' arguments, with weights and biases in one vector, and the sizes that MXNet takes
    beside it."""
    tensors = (*roles["weights"], *roles["biases"])
    state = roles["state"]
    directions = 2 if roles["bidirectional"] else 1
    cell = {"state_cell": roles["cell"]} if "cell" in roles else {}
    return {
        "data": roles["data"],
        "parameters": tensor(sum(math.prod(one.shape) for one in tensors), fill=tensors[0].fill),
        "state": state,
        **cell,
        "state_size": state.shape[2],
        "num_layers": state.shape[0] // directions,
        "bidirectional": roles["bidirectional"],
    }


TABLE: Table = {
    "RNN": Choice(
        "mode",
        {
            name: use(name, recurrent_roles, to_arguments=recurrent_arguments)
            for name in ("rnn_relu", "rnn_tanh", "lstm", "gru")
        },
    )
}
