"""Families of PyTorch's recurrent layers and cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from opperf.model import Argument, Operator, TensorSpec
from opperf.operations import CanonicalOperation
from opperf.operations.uses import ANYTHING, Array, Roles, Table, Use, Values, Written, merge, use
from opperf.rules.configurations import WHY
from opperf.rules.families.recurrent import AWD_LSTM, GATES, NETWORKS, WITHIN, Network
from opperf.rules.registering import Families
from opperf.rules.sizes import Preset
from opperf.rules.torch.roles import by_role
from opperf.rules.values import Arguments, between, fixed, literal, taken, tensor, tensors

SWITCHES = frozenset({"has_biases", "num_layers", "dropout", "train", "batch_first"})
"""Arguments that follow from others, or that do not affect the values of layers without dropout."""


def _states_of(hx: Any) -> dict[str, Any]:
    if isinstance(hx, (list, tuple)):
        return {"state": hx[0], "cell": hx[1]}
    return {"state": hx}


def weights_of(params: Sequence[Any], has_biases: bool) -> dict[str, Any]:
    """Weights and biases: for each layer and direction, those of the input and of the state."""
    import numpy as np

    if not has_biases:
        return {"weights": list(params), "biases": [np.zeros(len(weights)) for weights in params]}
    fours = [params[first : first + 4] for first in range(0, len(params), 4)]
    return {
        "weights": [weights for four in fours for weights in four[:2]],
        "biases": [biases for four in fours for biases in four[2:]],
    }


def _layer_roles(
    input: Array,
    hx: Any,
    params: Sequence[Array],
    has_biases: bool,
    bidirectional: bool,
    batch_first: bool = False,
    **others: Any,
) -> dict[str, Any]:
    assert others.keys() <= SWITCHES and not others.get("dropout")
    return {
        "data": input.swapaxes(0, 1) if batch_first else input,
        **{"bidirectional": bidirectional, "states": True, **_states_of(hx)},
        **weights_of(params, has_biases),
    }


def _in_order(made: Any, arguments: Values) -> Any:
    outputs, *states = made
    return (outputs.swapaxes(0, 1) if arguments.get("batch_first") else outputs, *states)


def padded(data: Array, sizes: Array) -> tuple[Array, Array]:
    """A packed batch, of so many sequences at each step, with zeros behind them; their lengths."""
    import numpy as np

    made = np.zeros((len(sizes), int(sizes[0]), data.shape[1]))
    for step, (end, size) in enumerate(zip(np.cumsum(sizes), sizes, strict=True)):
        made[step, :size] = data[end - size : end]
    return made, (sizes[:, None] > np.arange(sizes[0])).sum(0)


def _packed_roles(data: Array, batch_sizes: Array, **others: Any) -> dict[str, Any]:
    made, lengths = padded(data, batch_sizes)
    return {**_layer_roles(made, **others), "lengths": lengths}


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
    return {
        "hx": (state, roles["cell"]) if "cell" in roles else state,
        "params": tuple(params),
        "num_layers": state.shape[0] // (2 if roles["bidirectional"] else 1),
        **{"has_biases": True, "dropout": 0.0, "bidirectional": roles["bidirectional"]},
        # A network that predicts makes one step after the other.
        "train": is_trained,
    }


def _layer_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    data = roles["data"]
    assert isinstance(data, TensorSpec)
    return {"input": data, **arguments_of(roles, data.shape[0] > 1), "batch_first": False}


def sizes_of(steps: int, sequences: int) -> list[int]:
    """How many sequences have each step, of lengths even from a third of the steps to all."""
    shortest = max(1, steps // 3)
    lengths = [steps - i * (steps - shortest) // max(1, sequences - 1) for i in range(sequences)]
    return [sum(length > step for length in lengths) for step in range(steps)]


def on_cpu(spec: TensorSpec) -> TensorSpec:
    """The tensor on the CPU, whatever the case's device: lengths are read before the call."""
    return msgspec.structs.replace(spec, device="cpu(0)")


def packed_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
    """The arguments of layers over a packed batch; None for one step or text in equal parts."""
    data = roles["data"]
    assert isinstance(data, TensorSpec)
    steps, sequences, width = data.shape
    # One step, or AWD-LSTM, whose text is cut into parts of one length.
    if steps == 1 or width == AWD_LSTM.input:
        return None
    sizes = sizes_of(steps, sequences)
    return {
        "data": TensorSpec((sum(sizes), width), data.dtype, data.fill, gradient=data.gradient),
        "batch_sizes": on_cpu(fixed(steps, fill=literal(sizes), dtype="int64")),
        **arguments_of(roles, is_trained=True),
    }


def _cell_roles(
    input: Array, hx: Any, w_ih: Array, w_hh: Array, b_ih: Any = None, b_hh: Any = None
) -> dict[str, Any]:
    params = [param for param in (w_ih, w_hh, b_ih, b_hh) if param is not None]
    return {
        **{"data": input[None], "bidirectional": False, "states": True},
        **{name: value[None] for name, value in _states_of(hx).items()},
        **weights_of(params, has_biases=b_ih is not None),
    }


def _last_states(made: Any, arguments: Values) -> Any:
    _, *states = made
    return tuple(state[0] for state in states)


def _cell_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
    weights, biases, data = roles["weights"], roles["biases"], roles["data"]
    assert isinstance(weights, tuple) and isinstance(biases, tuple)
    assert isinstance(data, TensorSpec)
    # Loops call cells, a step each; networks that read whole sequences call layers.
    if data.shape[0] > 1:
        return None
    step, state, *cell = (
        TensorSpec(one.shape[1:], one.dtype, fill, gradient=one.gradient)
        for one, fill in ((data, data.fill), (roles["state"], WITHIN), (roles.get("cell"), WITHIN))
        if isinstance(one, TensorSpec)
    )
    return {
        "input": step,
        "hx": (state, *cell) if cell else state,
        **dict(zip(("w_ih", "w_hh", "b_ih", "b_hh"), weights[:2] + biases[:2], strict=True)),
    }


def _onednn_roles(
    weight0: Array, weight1: Array, weight2: Array, weight3: Array, reverse: bool, **others: Any
) -> dict[str, Any]:
    assert not reverse and not others["bidirectional"]
    return {
        **{"data": others["input"], "bidirectional": False, "states": True},
        **{"weights": [weight0, weight1], "biases": [weight2, weight3]},
        **{"state": others["hx_"], "cell": others["cx_"]},
    }


def layers(name: str) -> Table:
    """The uses of layers of one kind."""
    return {
        f"{name}.input": use(name, _layer_roles, _in_order, _layer_arguments),
        f"{name}.data": use(name, _packed_roles, packed, packed_arguments),
        f"{name}_cell": use(name, _cell_roles, _last_states, _cell_arguments),
    }


ONEDNN: Use = use("lstm", _onednn_roles, lambda made, arguments: Written((*made, ANYTHING)))

OPERATIONS: Table = merge(*map(layers, GATES), {"mkldnn_rnn_layer": ONEDNN})


FAMILIES = Families()

OWN = "it reads what its library's own forward pass leaves in memory of an order of its own"
PACKED = "it takes the packed weights of quantised modules, objects of a class and no tensors"
POINTERS = "it takes weights that FBGEMM has packed, in tensors that hold a pointer and no contents"
REMOVED = "PyTorch has removed it: each call only raises an error"

NOT_BENCHMARKED = {
    **dict.fromkeys(("mkldnn_rnn_layer_backward", "miopen_rnn_backward", "lstm_mps_backward"), OWN),
    **{
        f"quantized_{kind}.{form}{legacy}": REMOVED if legacy else PACKED
        for kind in ("gru", "lstm")
        for form in ("data", "input")
        for legacy in ("", "_legacy")
    },
    **{f"quantized_{kind}_cell": POINTERS for kind in ("gru", "lstm", "rnn_relu", "rnn_tanh")},
}
"""Operators that cannot be called on their own, each with the reason."""


@FAMILIES.also(*(f"{name}_cell" for name in GATES))
@by_role(OPERATIONS)
def cells(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Steps of loops over time that users write."""
    for why, units, width, count in (
        ("RecurrentPPO's width, of Stable-Baselines3: one step of 64 games", 256, 512, 64),
        ("Show, Attend and Tell's width: one word of 8 captions", 512, 1024, 8),
    ):
        network = Network(why, operation.name, units, layers=1, width=width)
        batch = size.samples(count)
        initial = between(-network.limit, network.limit)
        state = tensor(1, batch, units, fill=WITHIN)
        yield {
            **{WHY: why, "data": tensor(1, batch, width), "state": state, "bidirectional": False},
            "weights": tensors(tensor(*shape, fill=initial) for shape in network.weights),
            "biases": tensors(tensor(shape[0], fill=initial) for shape in network.weights),
            **({"cell": state} if operation.name == "lstm" else {}),
        }


LSTM = 2
"""The number of LSTMs among the kinds of layers."""


@FAMILIES.add("mkldnn_rnn_layer", "miopen_rnn")
def of_library(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Layers of LSTMs in one direction, by the kernels of oneDNN and MIOpen."""
    for network in NETWORKS:
        if (network.kind, network.layers, network.directions) != ("lstm", 1, 1):
            continue
        steps, batch = size.extent(network.steps, least=4), size.samples(network.sequences)
        if network.one_step:
            steps, batch = 1, 1
        initial = between(-network.limit, network.limit)
        weights = [tensor(*shape, fill=initial) for shape in network.weights]
        parts = [*weights, *(tensor(shape[0], fill=initial) for shape in network.weights)]
        state = tensor(1, batch, network.units, fill=WITHIN)
        offered: Arguments = {
            "input": tensor(steps, batch, network.input),
            **{f"weight{place}": one for place, one in enumerate(parts)},
            **{"weight": tensors(parts), "weight_stride0": len(parts)},
            **dict.fromkeys(("hx_", "cx_", "hx", "cx"), state),
            **{"mode": LSTM, "hidden_size": network.units, "num_layers": 1, "batch_sizes": ()},
            **{"has_biases": True, "dropout": 0.0, "train": not network.one_step},
            **dict.fromkeys(("reverse", "bidirectional", "batch_first"), False),
        }
        yield {WHY: network.why, **taken(operator, offered)}
