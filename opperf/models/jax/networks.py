"""The networks as functions: each takes extents and whether it trains, and returns the function of
parameters and inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from opperf.models.jax.layers import (
    Parameters,
    attention,
    batch_norm,
    convolution,
    dense,
    dense_layers,
    embed,
    layer_norm,
    lstm,
    max_pool,
    upsample,
)
from opperf.models.weights import Extents, residual_blocks

Call: TypeAlias = Callable[..., Array]


def mlp(extents: Extents, trains: bool) -> Call:
    """Returns a multilayer perceptron."""

    def call(parameters: Parameters, features: Array) -> Array:
        return dense_layers(parameters["layers"], features)

    return call


def dlrm(extents: Extents, trains: bool) -> Call:
    """Returns a recommendation model."""
    features_count = extents["tables"] + 1
    rows, columns = np.tril_indices(features_count, -1)

    def call(parameters: Parameters, features: Array, categories: Array) -> Array:
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

    return call


def resnet18(extents: Extents, trains: bool) -> Call:
    """Returns a classifier of images."""
    blocks = residual_blocks(extents["width"])

    def residual(block: Parameters, x: Array, stride: int) -> Array:
        y = convolution(block["conv1"], x, stride)
        y = jax.nn.relu(batch_norm(block["norm1"], y, trains))
        y = batch_norm(block["norm2"], convolution(block["conv2"], y), trains)
        if "shortcut" in block:
            x = convolution(block["shortcut"], x, stride)
            x = batch_norm(block["shortcut_norm"], x, trains)
        return jax.nn.relu(x + y)

    def call(parameters: Parameters, images: Array) -> Array:
        x = convolution(parameters["stem"], images, stride=2)
        x = jax.nn.relu(batch_norm(parameters["stem_norm"], x, trains))
        x = max_pool(x, 3, stride=2, padding=1)
        for block, shape in zip(parameters["blocks"], blocks, strict=True):
            x = residual(block, x, shape.stride)
        return dense(parameters["head"], x.mean((1, 2)))

    return call


def unet(extents: Extents, trains: bool) -> Call:
    """Returns a classifier of pixels."""

    def two_convolutions(layers: Parameters, x: Array) -> Array:
        for number in (1, 2):
            x = convolution(layers[f"conv{number}"], x)
            x = jax.nn.relu(batch_norm(layers[f"norm{number}"], x, trains))
        return x

    def call(parameters: Parameters, images: Array) -> Array:
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

    return call


def _embedded(parameters: Parameters, tokens: Array) -> Array:
    positions = parameters["positions"]["weight"][: tokens.shape[1]]
    return embed(parameters["tokens"], tokens) + positions


def _transformed(block: Parameters, x: Array) -> Array:
    return dense(block["contract"], jax.nn.gelu(dense(block["expand"], x), approximate=False))


def transformer(extents: Extents, trains: bool) -> Call:
    """Returns a classifier of sequences."""
    heads = extents["heads"]

    def call(parameters: Parameters, tokens: Array) -> Array:
        x = layer_norm(parameters["norm"], _embedded(parameters, tokens))
        for block in parameters["blocks"]:
            mixed = attention(block["attention"], x, heads, is_causal=False)
            x = layer_norm(block["norm1"], x + mixed)
            x = layer_norm(block["norm2"], x + _transformed(block, x))
        return dense(parameters["head"], x[:, 0])

    return call


def gpt(extents: Extents, trains: bool) -> Call:
    """Returns a language model of causal attention."""
    heads = extents["heads"]

    def call(parameters: Parameters, tokens: Array) -> Array:
        x = _embedded(parameters, tokens)
        for block in parameters["blocks"]:
            normed = layer_norm(block["norm1"], x)
            x = x + attention(block["attention"], normed, heads, is_causal=True)
            x = x + _transformed(block, layer_norm(block["norm2"], x))
        x = layer_norm(parameters["norm"], x)
        return x @ parameters["tokens"]["weight"].T

    return call


def lstm_language_model(extents: Extents, trains: bool) -> Call:
    """Returns a language model of LSTM layers."""

    def call(parameters: Parameters, tokens: Array) -> Array:
        x = embed(parameters["tokens"], tokens)
        for number in range(extents["layers"]):
            x = lstm(parameters["lstm"], x, number)
        return dense(parameters["head"], x)

    return call


FUNCTIONS: Mapping[str, Callable[[Extents, bool], Call]] = {
    "dlrm": dlrm,
    "gpt": gpt,
    "lstm": lstm_language_model,
    "mlp": mlp,
    "resnet18": resnet18,
    "transformer": transformer,
    "unet": unet,
}
