"""PyTorch's recurrent layers and cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from opperf.model import Argument, Operator, TensorSpec
from opperf.operations.uses import ANYTHING, Array, Roles, Table, Use, Values, Written, use
from opperf.rules.families.recurrent import WITHIN
from opperf.rules.values import fixed, literal

SWITCHES = frozenset({"has_biases", "num_layers", "dropout", "train", "batch_first"})
"""Arguments that follow from others, or that do not affect the values of layers without dropout."""


def states_of(hx: Any) -> dict[str, Any]:
    """The first states, and the first cells where there are cells."""
    if isinstance(hx, (list, tuple)):
        return {"state": hx[0], "cell": hx[1]}
    return {"state": hx}


def weights_of(params: Sequence[Any], has_biases: bool) -> dict[str, Any]:
    """Weights and biases: for each layer and direction, those of the input and of the state."""
    import numpy as np

    if not has_biases:
        return {"weights": list(params), "biases": [np.zeros(len(one)) for one in params]}
    fours = [params[first : first + 4] for first in range(0, len(params), 4)]
    return {
        "weights": [one for four in fours for one in four[:2]],
        "biases": [one for four in fours for one in four[2:]],
    }


def layer_roles(
    input: Array,
    hx: Any,
    params: Sequence[Array],
    has_biases: bool,
    bidirectional: bool,
    batch_first: bool = False,
    **others: Any,
) -> dict[str, Any]:
    """The inputs of layers over a batch of sequences of one length."""
    assert others.keys() <= SWITCHES and not others.get("dropout")
    return {
        "data": input.swapaxes(0, 1) if batch_first else input,
        "bidirectional": bidirectional,
        "states": True,
        **states_of(hx),
        **weights_of(params, has_biases),
    }


def in_order(made: Any, arguments: Values) -> Any:
    """Outputs with the batch first, where the data have it first."""
    outputs, *states = made
    return (outputs.swapaxes(0, 1) if arguments.get("batch_first") else outputs, *states)


def padded(data: Array, sizes: Array) -> tuple[Array, Array]:
    """A packed batch as sequences with zeros behind them, and their lengths. `sizes` are the
    numbers of sequences that have each step."""
    import numpy as np

    made = np.zeros((len(sizes), int(sizes[0]), data.shape[1]))
    for step, (end, size) in enumerate(zip(np.cumsum(sizes), sizes, strict=True)):
        made[step, :size] = data[end - size : end]
    return made, (sizes[:, None] > np.arange(sizes[0])).sum(0)


def packed_roles(data: Array, batch_sizes: Array, **others: Any) -> dict[str, Any]:
    """The inputs of layers over a packed batch of sequences."""
    made, lengths = padded(data, batch_sizes)
    return {**layer_roles(made, **others), "lengths": lengths}


def packed(made: Any, arguments: Values) -> Any:
    """Outputs as a packed batch."""
    import numpy as np

    outputs, *states = made
    parts = [outputs[step, :size] for step, size in enumerate(arguments["batch_sizes"])]
    return (np.concatenate(parts), *states)


def arguments_of(roles: Roles, is_trained: bool) -> dict[str, Argument]:
    """The arguments that layers over any batch have, in the order of PyTorch."""
    weights, biases, state = roles["weights"], roles["biases"], roles["state"]
    assert isinstance(weights, tuple) and isinstance(biases, tuple)
    assert isinstance(state, TensorSpec)
    params: list[Any] = []
    for first in range(0, len(weights), 2):
        params += [*weights[first : first + 2], *biases[first : first + 2]]
    directions = 2 if roles["bidirectional"] else 1
    return {
        "hx": (state, roles["cell"]) if "cell" in roles else state,
        "params": tuple(params),
        "has_biases": True,
        "num_layers": state.shape[0] // directions,
        "dropout": 0.0,
        # A network that predicts makes one step after the other.
        "train": is_trained,
        "bidirectional": roles["bidirectional"],
    }


def layer_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """The arguments of layers over a batch of sequences of one length."""
    data = roles["data"]
    assert isinstance(data, TensorSpec)
    return {"input": data, **arguments_of(roles, data.shape[0] > 1), "batch_first": False}


def sizes_of(steps: int, sequences: int) -> list[int]:
    """How many sequences have each step, of lengths evenly spread from a third of the steps to all
    of them."""
    shortest = max(1, steps // 3)
    lengths = [steps - i * (steps - shortest) // max(1, sequences - 1) for i in range(sequences)]
    return [sum(length > step for length in lengths) for step in range(steps)]


def on_cpu(spec: TensorSpec) -> TensorSpec:
    """The tensor on the CPU, whatever the case's device: lengths are read before the call."""
    return msgspec.structs.replace(spec, device="cpu(0)")


def packed_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
    """The arguments of layers over a packed batch of sequences; None for one step, of which all
    have the same length."""
    data = roles["data"]
    assert isinstance(data, TensorSpec)
    steps, sequences, width = data.shape
    if steps == 1:
        return None
    sizes = sizes_of(steps, sequences)
    packed = TensorSpec((sum(sizes), width), data.dtype, data.fill, gradient=data.gradient)
    return {
        "data": packed,
        "batch_sizes": on_cpu(fixed(steps, fill=literal(sizes), dtype="int64")),
        **arguments_of(roles, is_trained=True),
    }


def cell_roles(
    input: Array,
    hx: Any,
    w_ih: Array,
    w_hh: Array,
    b_ih: Any = None,
    b_hh: Any = None,
) -> dict[str, Any]:
    """The inputs of a layer of one step."""
    params = [one for one in (w_ih, w_hh, b_ih, b_hh) if one is not None]
    return {
        "data": input[None],
        "bidirectional": False,
        "states": True,
        **{name: value[None] for name, value in states_of(hx).items()},
        **weights_of(params, has_biases=b_ih is not None),
    }


def last_states(made: Any, arguments: Values) -> Any:
    """The states of the only layer, and its cells where there are cells."""
    _, *states = made
    return tuple(one[0] for one in states)


def cell_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
    """The arguments of a step of the first layer: of layers that go in one direction."""
    if roles["bidirectional"]:
        return None
    weights, biases, data = roles["weights"], roles["biases"], roles["data"]
    assert isinstance(weights, tuple) and isinstance(biases, tuple)
    assert isinstance(data, TensorSpec)
    step, state, *cell = (
        TensorSpec(one.shape[1:], one.dtype, fill, gradient=one.gradient)
        for one, fill in (
            (data, data.fill),
            (roles["state"], WITHIN),
            (roles.get("cell"), WITHIN),
        )
        if isinstance(one, TensorSpec)
    )
    states: Argument = (state, *cell) if cell else state
    return {
        "input": step,
        "hx": states,
        "w_ih": weights[0],
        "w_hh": weights[1],
        "b_ih": biases[0],
        "b_hh": biases[1],
    }


def onednn_roles(
    input: Array,
    weight0: Array,
    weight1: Array,
    weight2: Array,
    weight3: Array,
    hx_: Array,
    cx_: Array,
    reverse: bool,
    **others: Any,
) -> dict[str, Any]:
    """The inputs of oneDNN's layer, which goes in one direction."""
    assert not reverse and not others["bidirectional"]
    return {
        "data": input,
        "weights": [weight0, weight1],
        "biases": [weight2, weight3],
        "state": hx_,
        "cell": cx_,
        "bidirectional": False,
        "states": True,
    }


def without_workspace(made: Any, arguments: Values) -> Written:
    """The outputs but for what the backward pass reads."""
    return Written((*made, ANYTHING))


def layers(name: str) -> Table:
    """The uses of layers of one kind."""
    return {
        f"{name}.input": use(name, layer_roles, in_order, layer_arguments),
        f"{name}.data": use(name, packed_roles, packed, packed_arguments),
        f"{name}_cell": use(name, cell_roles, last_states, cell_arguments),
    }


ONEDNN: Use = use("lstm", onednn_roles, without_workspace)

TABLE: Table = {
    **layers("gru"),
    **layers("lstm"),
    **layers("rnn_relu"),
    **layers("rnn_tanh"),
    "mkldnn_rnn_layer": ONEDNN,
}
