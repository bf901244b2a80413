"""The networks as functions, and their layers. A network takes extents and whether it trains,
and returns the function of parameters and inputs; a layer takes its parameters, a dict of
arrays, and its inputs.

Images have their channels last, the layout in which XLA computes convolutions on a CPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from opperf.models.weights import Extents, residual_blocks

Parameters: TypeAlias = Any
"""The parameters of a layer or network: dicts and lists of arrays by name and number."""

EPSILON = 1e-5
"""Added to variances before a division: the default of PyTorch and MXNet."""


def dense(layer: Parameters, x: Array) -> Array:
    """Returns the outputs of a dense layer over the last axis."""
    return x @ layer["weight"] + layer["bias"]


def dense_layers(layers: Parameters, x: Array) -> Array:
    """Returns the outputs of dense layers with ReLU between them."""
    for layer in layers[:-1]:
        x = jax.nn.relu(dense(layer, x))
    return dense(layers[-1], x)


def embed(layer: Parameters, tokens: Array) -> Array:
    """Returns a row of the table for each token."""
    return layer["weight"][tokens]


def convolution(layer: Parameters, x: Array, stride: int = 1) -> Array:
    """Returns a convolution of images; as many outputs as inputs over the stride."""
    padding = layer["weight"].shape[0] // 2
    return lax.conv_general_dilated(
        x,
        layer["weight"],
        (stride, stride),
        [(padding, padding)] * 2,
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
    )


def upsample(layer: Parameters, x: Array) -> Array:
    """Returns a transposed convolution to twice as many rows and columns."""
    # The kernel is that of the convolution whose gradient this is.
    y = lax.conv_transpose(
        x,
        layer["weight"],
        (2, 2),
        "VALID",
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
        transpose_kernel=True,
    )
    return y + layer["bias"]


def max_pool(x: Array, window: int, stride: int, padding: int = 0) -> Array:
    """Returns the maximum of each window of images."""
    pads = [(0, 0), (padding, padding), (padding, padding), (0, 0)]
    return lax.reduce_window(
        x, -jnp.inf, lax.max, (1, window, window, 1), (1, stride, stride, 1), pads
    )


def layer_norm(layer: Parameters, x: Array) -> Array:
    """Returns the inputs normalised over their last axis."""
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + EPSILON) * layer["weight"] + layer["bias"]


def batch_norm(layer: Parameters, x: Array, trains: bool) -> Array:
    """Returns images normalised by their channels: by the batch's own statistics in training, else
    by the running ones."""
    running = (layer["running_mean"], layer["running_var"])
    mean, variance = running
    if trains:
        mean, variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
    y = (x - mean) * lax.rsqrt(variance + EPSILON) * layer["weight"] + layer["bias"]
    if not trains:
        return y
    count = x.size // x.shape[-1]
    # Running variances are of the population, as PyTorch has them.
    return observing(y, running, (mean, variance * (count / max(count - 1, 1))))


@jax.custom_vjp
def observing(outputs: Array, running: Any, observed: Any) -> Array:
    """Returns the outputs. The gradient of running statistics is their distance from the observed
    ones, by which the optimizer (`optimizers.averaging`) moves them: a pure function has no other
    way to update them within a step."""
    return outputs


def _observing_forward(outputs: Array, running: Any, observed: Any) -> tuple[Array, Any]:
    distances = jax.tree_util.tree_map(lambda one, other: one - other, running, observed)
    return outputs, lax.stop_gradient(distances)


def _observing_backward(distances: Any, gradient: Array) -> tuple[Array, Any, Any]:
    zeros = jax.tree_util.tree_map(jnp.zeros_like, distances)
    return gradient, distances, zeros


observing.defvjp(_observing_forward, _observing_backward)


def attention(layer: Parameters, x: Array, heads: int, is_causal: bool) -> Array:
    """Returns the self-attention of several heads."""
    batch, length, width = x.shape
    query, key, value = (
        part.reshape(batch, length, heads, width // heads)
        for part in jnp.split(dense(layer["qkv"], x), 3, axis=-1)
    )
    mixed = jax.nn.dot_product_attention(query, key, value, is_causal=is_causal)
    return dense(layer["output"], mixed.reshape(batch, length, width))


def lstm(layer: Parameters, x: Array, number: int) -> Array:
    """Returns the outputs of an LSTM layer for a batch of sequences."""
    weights = [
        layer[f"{role}_{side}_l{number}"] for side in ("ih", "hh") for role in ("weight", "bias")
    ]
    input_weight, input_bias, hidden_weight, hidden_bias = weights
    # The products of the inputs do not depend on the state: one product for all steps.
    projected = x @ input_weight + (input_bias + hidden_bias)

    def step(state: tuple[Array, Array], projection: Array) -> tuple[tuple[Array, Array], Array]:
        hidden, cell = state
        gates = jnp.split(projection + hidden @ hidden_weight, 4, axis=-1)
        enter, forget, leave = (jax.nn.sigmoid(gates[place]) for place in (0, 1, 3))
        cell = forget * cell + enter * jnp.tanh(gates[2])
        hidden = leave * jnp.tanh(cell)
        return (hidden, cell), hidden

    start = jnp.zeros((x.shape[0], hidden_weight.shape[0]), x.dtype)
    _, outputs = lax.scan(step, (start, start), projected.swapaxes(0, 1))
    return outputs.swapaxes(0, 1)


def mlp(extents: Extents, trains: bool, parameters: Parameters, features: Array) -> Array:
    """Returns the outputs of a multilayer perceptron."""
    return dense_layers(parameters["layers"], features)


def dlrm(
    extents: Extents, trains: bool, parameters: Parameters, features: Array, categories: Array
) -> Array:
    """Returns the outputs of a recommendation model."""
    features_count = extents["tables"] + 1
    rows, columns = np.tril_indices(features_count, -1)
    bottom = jax.nn.relu(dense_layers(parameters["bottom"]["layers"], features))
    bags = [
        embed(table, categories[:, number]).sum(axis=1)
        for number, table in enumerate(parameters["tables"])
    ]
    vectors = jnp.stack([bottom, *bags], axis=1)
    products = vectors @ vectors.swapaxes(1, 2)
    interactions = products[:, rows, columns]
    top = jnp.concatenate([bottom, interactions], axis=1)
    return dense_layers(parameters["top"]["layers"], top)


def resnet18(extents: Extents, trains: bool, parameters: Parameters, images: Array) -> Array:
    """Returns the outputs of a classifier of images."""
    blocks = residual_blocks(extents["width"])

    def residual(block: Parameters, x: Array, stride: int) -> Array:
        y = convolution(block["conv1"], x, stride)
        y = jax.nn.relu(batch_norm(block["norm1"], y, trains))
        y = batch_norm(block["norm2"], convolution(block["conv2"], y), trains)
        if "shortcut" in block:
            x = convolution(block["shortcut"], x, stride)
            x = batch_norm(block["shortcut_norm"], x, trains)
        return jax.nn.relu(x + y)

    x = convolution(parameters["stem"], images, stride=2)
    x = jax.nn.relu(batch_norm(parameters["stem_norm"], x, trains))
    x = max_pool(x, 3, stride=2, padding=1)
    for block, shape in zip(parameters["blocks"], blocks, strict=True):
        x = residual(block, x, shape.stride)
    return dense(parameters["head"], x.mean((1, 2)))


def unet(extents: Extents, trains: bool, parameters: Parameters, images: Array) -> Array:
    """Returns the outputs of a classifier of pixels."""

    def two_convolutions(layers: Parameters, x: Array) -> Array:
        for number in (1, 2):
            x = convolution(layers[f"conv{number}"], x)
            x = jax.nn.relu(batch_norm(layers[f"norm{number}"], x, trains))
        return x

    first, *others = parameters["down"]
    x = two_convolutions(first, images)
    skipped = []
    for down in others:
        skipped.append(x)
        x = two_convolutions(down, max_pool(x, 2, stride=2))
    for up in parameters["up"]:
        merged = jnp.concatenate([skipped.pop(), upsample(up["upsample"], x)], axis=-1)
        x = two_convolutions(up["merge"], merged)
    return convolution(parameters["head"], x) + parameters["head"]["bias"]


def _embedded(parameters: Parameters, tokens: Array) -> Array:
    positions = parameters["positions"]["weight"][: tokens.shape[1]]
    return embed(parameters["tokens"], tokens) + positions


def _transformed(block: Parameters, x: Array) -> Array:
    return dense(block["contract"], jax.nn.gelu(dense(block["expand"], x), approximate=False))


def transformer(extents: Extents, trains: bool, parameters: Parameters, tokens: Array) -> Array:
    """Returns the outputs of a classifier of sequences."""
    heads = extents["heads"]
    x = layer_norm(parameters["norm"], _embedded(parameters, tokens))
    for block in parameters["blocks"]:
        mixed = attention(block["attention"], x, heads, is_causal=False)
        x = layer_norm(block["norm1"], x + mixed)
        x = layer_norm(block["norm2"], x + _transformed(block, x))
    return dense(parameters["head"], x[:, 0])


def gpt(extents: Extents, trains: bool, parameters: Parameters, tokens: Array) -> Array:
    """Returns the outputs of a language model of causal attention."""
    heads = extents["heads"]
    x = _embedded(parameters, tokens)
    for block in parameters["blocks"]:
        normed = layer_norm(block["norm1"], x)
        x = x + attention(block["attention"], normed, heads, is_causal=True)
        x = x + _transformed(block, layer_norm(block["norm2"], x))
    x = layer_norm(parameters["norm"], x)
    return x @ parameters["tokens"]["weight"].T


def lstm_language_model(
    extents: Extents, trains: bool, parameters: Parameters, tokens: Array
) -> Array:
    """Returns the outputs of a language model of LSTM layers."""
    x = embed(parameters["tokens"], tokens)
    for number in range(extents["layers"]):
        x = lstm(parameters["lstm"], x, number)
    return dense(parameters["head"], x)


FUNCTIONS: Mapping[str, Callable[..., Array]] = {
    "dlrm": dlrm,
    "gpt": gpt,
    "lstm": lstm_language_model,
    "mlp": mlp,
    "resnet18": resnet18,
    "transformer": transformer,
    "unet": unet,
}
"""By the names of networks."""


def function_of(name: str, extents: Extents, trains: bool) -> Callable[..., Array]:
    """Returns a network as a function of its parameters and inputs."""

    def call(parameters: Parameters, *inputs: Array) -> Array:
        return FUNCTIONS[name](extents, trains, parameters, *inputs)

    return call
