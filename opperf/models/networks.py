"""The networks that come with opperf, the same in each framework, and the suite of them."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from opperf.errors import unknown
from opperf.frameworks.models import Model
from opperf.models import weights
from opperf.models.base import SIZES, Options, SuiteModel, batch_of
from opperf.models.weights import IMAGES, Array, Extents, Weights, draw

if TYPE_CHECKING:
    import numpy as np

CLASSES, PIXELS, CLICKS = "classes", "pixels", "clicks"
"""Losses: cross entropy over the last axis; over the channels of each pixel; of two outcomes."""


@dataclass(frozen=True)
class Optimizer:
    """An optimizer and its settings, the others as usual."""

    name: str
    """`sgd` or `adam`."""
    rate: float
    momentum: float = 0.0


@dataclass(frozen=True)
class Network:
    """A network: its structure by its extents, its training, and its sizes."""

    why: str
    """The network in one line, with its source."""
    tags: tuple[str, ...]
    weights: Callable[[Extents], Weights]
    inputs: Callable[[Extents], Mapping[str, Array]]
    target: Callable[[Extents], Array]
    loss: str
    """`CLASSES`, `PIXELS` or `CLICKS`."""
    optimizer: Optimizer
    sizes: Mapping[str, Extents]
    """Extents by the names in `SIZES`."""


def _images(extents: Extents) -> dict[str, Array]:
    pixels = extents["pixels"]
    return {"images": Array((extents["batch"], 3, pixels, pixels), kind=IMAGES)}


def _tokens(extents: Extents) -> dict[str, Array]:
    return {"tokens": _choices(extents, "vocabulary", "length")}


def _features(extents: Extents) -> dict[str, Array]:
    return {"features": Array((extents["batch"], extents["inputs"]))}


def _clicks(extents: Extents) -> dict[str, Array]:
    return {**_features(extents), "categories": _choices(extents, "rows", "tables", "bag")}


def _choices(extents: Extents, below: str, *axes: str) -> Array:
    """Returns integers from 0 to below an extent, over the batch and these axes."""
    shape = (extents["batch"], *(extents[axis] for axis in axes))
    return Array(shape, "integers", width=extents[below])


def _sizes(names: str, *rows: tuple[int, ...]) -> dict[str, Extents]:
    return {
        size: dict(zip(names.split(), row, strict=True))
        for size, row in zip(SIZES, rows, strict=True)
    }


NETWORKS: Mapping[str, Network] = {
    "dlrm": Network(
        why="recommendation: embedding bags, dot products of features, two perceptrons "
        "(Naumov et al. 2019; 26 tables like Criteo's)",
        tags=("recommendation", "embedding"),
        weights=weights.dlrm,
        inputs=_clicks,
        target=lambda extents: Array((extents["batch"], 1), "bits"),
        loss=CLICKS,
        optimizer=Optimizer("sgd", 0.01),
        sizes=_sizes(
            "batch inputs width embedding tables rows bag",
            (128, 13, 64, 16, 8, 1000, 4),
            (2048, 13, 512, 64, 26, 10_000, 4),
            (8192, 13, 1024, 64, 26, 40_000, 8),
        ),
    ),
    "gpt": Network(
        why="decoder that predicts the next token, causal attention, tied tables "
        "(GPT-2, Radford et al. 2019, as nanoGPT has it)",
        tags=("language", "attention"),
        weights=weights.gpt,
        inputs=_tokens,
        target=lambda extents: _choices(extents, "vocabulary", "length"),
        loss=CLASSES,
        optimizer=Optimizer("adam", 3e-4),
        sizes=_sizes(
            "batch length layers width heads vocabulary",
            (4, 32, 2, 64, 4, 256),
            (4, 128, 4, 256, 4, 8192),
            (4, 256, 6, 512, 8, 50_304),
        ),
    ),
    "lstm": Network(
        why="language model of two LSTM layers (Zaremba et al. 2014; default and large are its "
        "small and medium)",
        tags=("language", "recurrent"),
        weights=weights.lstm_language_model,
        inputs=_tokens,
        target=lambda extents: _choices(extents, "vocabulary", "length"),
        loss=CLASSES,
        optimizer=Optimizer("adam", 1e-3),
        sizes=_sizes(
            "batch length layers width vocabulary",
            (8, 16, 2, 64, 1000),
            (20, 20, 2, 200, 10_000),
            (20, 35, 2, 650, 10_000),
        ),
    ),
    "mlp": Network(
        why="multilayer perceptron with ReLU, inputs and classes of MNIST",
        tags=("dense",),
        weights=weights.mlp,
        inputs=_features,
        target=lambda extents: _choices(extents, "classes"),
        loss=CLASSES,
        optimizer=Optimizer("sgd", 0.001, momentum=0.9),
        sizes=_sizes(
            "batch inputs width layers classes",
            (128, 784, 512, 2, 10),
            (128, 784, 2048, 2, 10),
            (512, 784, 4096, 4, 10),
        ),
    ),
    "resnet18": Network(
        why="residual convolutions with batch normalisation (ResNet-18, He et al. 2016)",
        tags=("vision", "convolution"),
        weights=weights.resnet18,
        inputs=_images,
        target=lambda extents: _choices(extents, "classes"),
        loss=CLASSES,
        optimizer=Optimizer("sgd", 0.01, momentum=0.9),
        sizes=_sizes(
            "batch pixels width classes", (4, 64, 16, 10), (2, 224, 64, 1000), (16, 224, 64, 1000)
        ),
    ),
    "transformer": Network(
        why="encoder that classifies a sequence, normalised after each block "
        "(Vaswani et al. 2017, with the GELU and positions of BERT)",
        tags=("language", "attention"),
        weights=weights.transformer,
        inputs=_tokens,
        target=lambda extents: _choices(extents, "classes"),
        loss=CLASSES,
        optimizer=Optimizer("adam", 1e-4),
        sizes=_sizes(
            "batch length layers width heads vocabulary classes",
            (4, 32, 2, 64, 4, 1000, 2),
            (4, 128, 4, 256, 4, 8192, 2),
            (8, 256, 6, 512, 8, 30_522, 2),
        ),
    ),
    "unet": Network(
        why="segmentation: convolutions down and up again, joined at each level "
        "(U-Net, Ronneberger et al. 2015, with padding and batch normalisation)",
        tags=("vision", "convolution"),
        weights=weights.unet,
        inputs=_images,
        target=lambda extents: _choices(extents, "classes", "pixels", "pixels"),
        loss=PIXELS,
        optimizer=Optimizer("adam", 1e-3),
        sizes=_sizes(
            "batch pixels width levels classes",
            (2, 32, 8, 3, 2),
            (1, 128, 16, 4, 2),
            (2, 256, 32, 4, 2),
        ),
    ),
}
"""The networks by name."""


@dataclass(frozen=True)
class Instance:
    """A network of one size, with the seed of its arrays: what a framework builds."""

    name: str
    network: Network
    extents: Extents
    seed: int = 0
    phase: str = "predict"

    def weights(self) -> Iterator[tuple[str, str, np.ndarray[Any, Any]]]:
        """Yields the name, kind and contents of each weight, one at a time."""
        for name, array in self.network.weights(self.extents).items():
            yield name, array.kind, draw(array, name, self.seed)

    def inputs(self) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
        """Yields the kind and contents of each input."""
        for name, array in self.network.inputs(self.extents).items():
            yield array.kind, draw(array, f"input {name}", self.seed)

    def target(self) -> np.ndarray[Any, Any]:
        """Returns the contents of the target."""
        return draw(self.network.target(self.extents), "target", self.seed)


def instance(name: str, options: Options) -> Instance:
    """Returns a network of a size. Raises `UsageError` for an unknown name or size, and for a batch
    without an example."""
    if name not in NETWORKS:
        raise unknown("network", name, NETWORKS)
    network = NETWORKS[name]
    if options.size not in network.sizes:
        raise unknown("size", options.size, network.sizes, f"network {name}")
    own = network.sizes[options.size]
    extents = {**own, "batch": batch_of(options, own["batch"])}
    return Instance(name, network, extents, options.seed, options.phase)


class Networks:
    """The suite of these networks."""

    frameworks = ("torch", "jax", "mxnet")
    requirement = ""

    def models(self, framework: str, folder: str) -> Sequence[SuiteModel]:
        """Returns the networks: each framework has all."""
        return [
            SuiteModel(name, sizes=SIZES, tags=network.tags, why=network.why)
            for name, network in sorted(NETWORKS.items())
        ]

    def build(self, framework: str, name: str, options: Options) -> Model:
        """Returns a network in a framework, on the CPU and in float32. Raises `UsageError`."""
        made = instance(name, options)
        built: Model = importlib.import_module(f"opperf.models.{framework}.build").build(made)
        return built


SUITE = Networks()
