"""Inputs of PyTorch's collective operators: two processes, as models are divided over them."""

from __future__ import annotations

from opperf.frameworks.torch import PROCESSES
from opperf.model import Argument, TensorSpec
from opperf.rules.bert import layer_width
from opperf.rules.configurations import DTYPE
from opperf.rules.llama import FEED_FORWARD, HALF, HEADS, KEYS, UNITS, WIDTH, prompt
from opperf.rules.registering import Families
from opperf.rules.sizes import Preset
from opperf.rules.values import Arguments, fixed, tensors
from opperf.rules.variants import Variants, add_rows

FAMILIES = Families()

SUMS = "Llama 3 8B, tensor parallel: a layer's sums"
GROUP = "0"
"""PyTorch's name of the first group of a program."""

NOT_BENCHMARKED = dict.fromkeys(
    (f"_c10d_functional::{name}" for name in ("isend", "irecv", "batch_p2p_ops")),
    "the other process has to make another call, which receives what this one sends",
)
"""Operators that a group cannot repeat alike, with the reason."""


def call(**arguments: Argument) -> Arguments:
    """A call in the first group, in the dtype that models run in."""
    return {**arguments, "group_name": GROUP, DTYPE: HALF}


def tokens(size: Preset, count: int) -> TensorSpec:
    """The vectors of so many tokens."""
    return fixed(count, layer_width(size, UNITS))


def weights(size: Preset, parts: int = 1) -> TensorSpec:
    """Rows of the matrix behind attention: all of them, or a part."""
    width = layer_width(size, UNITS)
    return fixed(width // parts, width)


def of_attention(size: Preset) -> tuple[TensorSpec, ...]:
    """The weights of queries, keys and values, and behind attention."""
    shared = HEADS // KEYS
    return tensors(weights(size, parts) for parts in (1, shared, shared, 1))


ROWS: dict[str, Variants] = {
    "_c10d_functional::all_reduce": lambda size: {
        f"{SUMS}, reading a prompt": call(input=tokens(size, prompt(size)), reduce_op="sum"),
        f"{SUMS}, generating: latency": call(input=tokens(size, 1), reduce_op="sum"),
    },
    "_c10d_functional::all_reduce_coalesced": lambda size: {
        "Llama 3 8B, data parallel: attention": call(inputs=of_attention(size), reduce_op="avg")
    },
    "_c10d_functional::all_gather_into_tensor": lambda size: {
        "Llama 3 8B, fully sharded: attention's last matrix, of which each has half": call(
            input=weights(size, PROCESSES), group_size=PROCESSES
        ),
        "Llama 3 8B, sequence parallel: all of a prompt's tokens before attention": call(
            input=tokens(size, prompt(size) // PROCESSES), group_size=PROCESSES
        ),
    },
    "_c10d_functional::all_gather_into_tensor_coalesced": lambda size: {
        "Llama 3 8B, fully sharded: halves of a layer's scales and of a matrix": call(
            inputs=tensors([fixed(layer_width(size, UNITS) // PROCESSES), weights(size, 2)]),
            group_size=PROCESSES,
        )
    },
    "_c10d_functional::reduce_scatter_tensor": lambda size: {
        "Llama 3 8B, fully sharded: a gradient summed, half for each": call(
            input=weights(size), reduce_op="avg", group_size=PROCESSES
        ),
        "Llama 3 8B, sequence parallel: a layer's sums, half of the tokens for each": call(
            input=tokens(size, prompt(size)), reduce_op="sum", group_size=PROCESSES
        ),
    },
    "_c10d_functional::reduce_scatter_tensor_coalesced": lambda size: {
        "Llama 3 8B, fully sharded: gradients of attention's weights summed, half for each": call(
            inputs=of_attention(size), reduce_op="avg", group_size=PROCESSES
        )
    },
    "_c10d_functional::all_to_all_single": lambda size: {
        "DeepSpeed-Ulysses: from half of the tokens to half of the heads before attention": call(
            input=fixed(prompt(size), HEADS // PROCESSES, WIDTH),
            output_split_sizes=(prompt(size) // PROCESSES,) * PROCESSES,
            input_split_sizes=(prompt(size) // PROCESSES,) * PROCESSES,
        )
    },
    "_c10d_functional::broadcast": lambda size: {
        "Llama 3 8B, a feed-forward block's matrix to the other process, as a start sends it": call(
            input=fixed(layer_width(size, FEED_FORWARD), layer_width(size, UNITS)), src=0
        )
    },
}
add_rows(FAMILIES.add, ROWS)
