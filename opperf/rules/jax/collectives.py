"""Inputs of JAX's collective functions: two devices, of which each has half of every array, as
models are divided over them. On a CPU the devices are two of the host."""

from __future__ import annotations

from opperf.frameworks.jax import DEVICES
from opperf.model import Argument, TensorSpec
from opperf.rules.bert import layer_width
from opperf.rules.configurations import DTYPE, WHY
from opperf.rules.llama import HALF, HEADS, KEYS, UNITS, WIDTH, prompt
from opperf.rules.registering import Families
from opperf.rules.sizes import Preset
from opperf.rules.values import Arguments, fixed
from opperf.rules.variants import Variants, add_rows

FAMILIES = Families()


def each(rows: int, *others: int, dtype: str = "") -> TensorSpec:
    """A tensor of which each device has so many rows."""
    return fixed(DEVICES * rows, *others, dtype=dtype)


def call(x: TensorSpec, why: str, **others: Argument) -> Arguments:
    """A call along the axis of devices, in the dtype that models run in."""
    return {"x": x, "axis_name": "devices", **others, DTYPE: HALF, WHY: why}


def activations(size: Preset, tokens: int) -> TensorSpec:
    """The vectors of each device's tokens."""
    return each(tokens, layer_width(size, UNITS))


def weights(size: Preset, parts: int = 1) -> TensorSpec:
    """Each device's rows of the matrix behind attention: all of them, or a part."""
    width = layer_width(size, UNITS)
    return each(width // parts, width)


def summed(size: Preset) -> list[Arguments]:
    """Partial sums of a layer whose weights are divided, of a prompt and of one token."""
    return [
        call(activations(size, tokens), f"Llama 3 8B, tensor parallel: a layer's sums, {what}")
        for tokens, what in ((prompt(size), "reading a prompt"), (1, "generating: latency"))
    ]


def heads(size: Preset) -> list[Arguments]:
    """Queries of all heads of half of the tokens, exchanged for all tokens of half of the heads."""
    return [
        call(
            each(prompt(size) // DEVICES, HEADS, WIDTH),
            "DeepSpeed-Ulysses: from half of the tokens to half of the heads before attention",
            split_axis=1,
            concat_axis=0,
            tiled=True,
        )
    ]


ROWS: dict[str, Variants] = {
    "lax.psum": summed,
    "lax.pmean": lambda size: [call(weights(size), "Llama 3 8B, data parallel: mean gradients")],
    "lax.pmax": lambda size: [
        call(each(prompt(size), dtype="float32"), "Megatron-LM, each token's largest logit")
    ],
    "lax.pmin": lambda size: [call(each(1, dtype="float32"), "whether gradients are finite")],
    "lax.all_gather": lambda size: [
        call(weights(size, DEVICES), "Llama 3 8B, fully sharded: half a matrix each", tiled=True),
        call(
            activations(size, prompt(size) // DEVICES),
            "Llama 3 8B, sequence parallel: all of 2048 tokens before attention",
            tiled=True,
        ),
    ],
    "lax.psum_scatter": lambda size: [
        call(weights(size), "Llama 3 8B, fully sharded: a gradient summed, half each", tiled=True),
        call(
            activations(size, prompt(size)),
            "Llama 3 8B, sequence parallel: a layer's sums, half of the tokens for each",
            tiled=True,
        ),
    ],
    "lax.all_to_all": heads,
    "lax.ppermute": lambda size: [
        call(
            each(prompt(size) // DEVICES, KEYS, WIDTH),
            "ring attention: keys of half of 2048 tokens to the next device",
            perm=tuple((source, (source + 1) % DEVICES) for source in range(DEVICES)),
        )
    ],
}
add_rows(FAMILIES.add, ROWS)
