"""Families of PyTorch's recurrent layers and cells."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Argument, Operator
from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.configurations import WHY
from opperf.rules.families.recurrent import GATES, NETWORKS, WITHIN, Network
from opperf.rules.registering import Families
from opperf.rules.sizes import Preset
from opperf.rules.torch.roles import by_role
from opperf.rules.values import Arguments, between, tensor, tensors

FAMILIES = Families()

SAVED = "it reads what its library's own forward pass leaves in memory of an order of its own"
PACKED = "it takes the packed weights of quantised modules, objects of a class and no tensors"
POINTERS = "it takes weights that FBGEMM has packed, in tensors that hold a pointer and no contents"
REMOVED = "PyTorch has removed it: each call only raises an error"

NOT_BENCHMARKED = {
    **dict.fromkeys(
        ("mkldnn_rnn_layer_backward", "miopen_rnn_backward", "lstm_mps_backward"), SAVED
    ),
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
@by_role
def cells(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Steps of loops over time that users write."""
    for why, units, width, count in (
        ("a controller of a reinforcement learner, one step of many games", 256, 512, 64),
        ("a decoder with attention, one step of a few sentences", 512, 1024, 8),
    ):
        network = Network(why, operation.name, units, layers=1, width=width)
        batch = size.samples(count)
        initial = between(-network.limit, network.limit)
        state = tensor(1, batch, units, fill=WITHIN)
        yield {
            WHY: why,
            "data": tensor(1, batch, width),
            "weights": tensors(tensor(*shape, fill=initial) for shape in network.weights),
            "biases": tensors(tensor(shape[0], fill=initial) for shape in network.weights),
            "state": state,
            **({"cell": state} if operation.name == "lstm" else {}),
            "bidirectional": False,
        }


LSTM = 2
"""The number of LSTMs among the kinds of layers."""


@FAMILIES.add("mkldnn_rnn_layer", "miopen_rnn")
def of_library(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Layers of LSTMs in one direction, by the kernels of oneDNN and MIOpen."""
    names = {one.name for one in operator.parameters}
    for network in NETWORKS:
        if network.kind != "lstm" or network.layers > 1 or network.directions > 1:
            continue
        steps, batch = size.extent(network.steps, least=4), size.samples(network.sequences)
        if network.one_step:
            steps, batch = 1, 1
        initial = between(-network.limit, network.limit)
        weights = [tensor(*shape, fill=initial) for shape in network.weights]
        biases = [tensor(shape[0], fill=initial) for shape in network.weights]
        parts = [*weights, *biases]
        state = tensor(1, batch, network.units, fill=WITHIN)
        offered: dict[str, Argument] = {
            "input": tensor(steps, batch, network.input),
            **{f"weight{place}": one for place, one in enumerate(parts)},
            "weight": tensors(parts),
            "weight_stride0": len(parts),
            "hx_": state,
            "cx_": state,
            "hx": state,
            "cx": state,
            "reverse": False,
            "batch_sizes": (),
            "mode": LSTM,
            "hidden_size": network.units,
            "num_layers": 1,
            "has_biases": True,
            "dropout": 0.0,
            "bidirectional": False,
            "batch_first": False,
            "train": not network.one_step,
        }
        yield {WHY: network.why, **{name: offered[name] for name in offered if name in names}}
