"""The vision models of Gluon's zoo, with random weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import mxnet as mx
import numpy as np

from opperf.frameworks.models import Model
from opperf.frameworks.mxnet.device import context
from opperf.models.base import SIZES, Options, SuiteModel, batch_of
from opperf.models.packages import BATCHES, check_name, check_size

SUITE = "gluon"

CLASSES = 1000
"""Those of ImageNet."""


def _names(pattern: str, words: str) -> list[str]:
    return [pattern.format(word) for word in words.split()]


FAMILIES: Mapping[str, list[str]] = {
    "AlexNet (Krizhevsky et al. 2012)": ["alexnet"],
    "DenseNet (Huang et al. 2017)": _names("densenet{}", "121 161 169 201"),
    "Inception v3 (Szegedy et al. 2016)": ["inceptionv3"],
    "MobileNet (Howard et al. 2017)": _names("mobilenet{}", "0.25 0.5 0.75 1.0"),
    "MobileNet v2 (Sandler et al. 2018)": _names("mobilenetv2_{}", "0.25 0.5 0.75 1.0"),
    "ResNet (He et al. 2016)": _names("resnet{}_v1", "18 34 50 101 152"),
    "ResNet v2 (He et al. 2016)": _names("resnet{}_v2", "18 34 50 101 152"),
    "SqueezeNet (Iandola et al. 2016)": _names("squeezenet{}", "1.0 1.1"),
    "VGG (Simonyan and Zisserman 2015)": _names("vgg{}", "11 13 16 19"),
    "VGG with batch normalisation": _names("vgg{}_bn", "11 13 16 19"),
}
"""Names as `mxnet.gluon.model_zoo.vision.get_model` takes them, which no function lists."""

WHY: Mapping[str, str] = {name: why for why, names in FAMILIES.items() for name in names}

PIXELS = {"inceptionv3": 299}
"""Rows and columns of images, where they are not `USUAL_PIXELS`."""

USUAL_PIXELS = 224


def models(folder: str) -> Sequence[SuiteModel]:
    """Returns all models of the zoo that classify images."""
    tags = ("vision", "classification")
    return [SuiteModel(name, sizes=SIZES, tags=tags, why=WHY[name]) for name in sorted(WHY)]


def build(name: str, options: Options) -> Model:
    """Returns a model with its inputs, on the device. Raises `UsageError`."""
    check_name(SUITE, name, WHY)
    check_size(SUITE, name, options.size, SIZES)
    batch = batch_of(options, BATCHES[options.size])
    device = context(options.device)
    mx.random.seed(options.seed)
    block = mx.gluon.model_zoo.vision.get_model(name, pretrained=False, classes=CLASSES)
    block.initialize(mx.init.Xavier(), ctx=device)
    pixels = PIXELS.get(name, USUAL_PIXELS)
    # The first call draws the weights, whose shapes follow from it.
    block(mx.nd.zeros((1, 3, pixels, pixels), ctx=device)).wait_to_read()
    rng = np.random.default_rng(options.seed)
    return Model(
        call=block,
        inputs=[rng.standard_normal((batch, 3, pixels, pixels), "float32")],
        loss=mx.gluon.loss.SoftmaxCrossEntropyLoss(),
        optimizer=("sgd", {"learning_rate": 0.01, "momentum": 0.9}),
        targets=[rng.integers(0, CLASSES, batch).astype("float32")],
    )
