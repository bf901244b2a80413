"""Reads recorded operator calls.

A file is the recording of one training run: a line `Operator: aten.add.Tensor`, then, for each
distinct input of the operator, `cnt: N, (args, kwargs)`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from opperf.model import DType, Number, TensorSpec
from opperf.sources.logged_arguments import read_arguments

MODELS = {
    "BertForMaskedLM_training": "BERT",
    "BigBird_training": "BigBird",
    "GPT2ForSequenceClassification_training": "GPT-2",
    "GoogleFnet_training": "FNet",
    "MBartForCausalLM_training": "mBART",
    "OPTForCausalLM_training": "OPT",
    "Super_SloMo_training": "Super SloMo",
    "XLNetLMHeadModel_training": "XLNet",
    "convnext_base_training": "ConvNeXt-B",
    "dcgan_training": "DCGAN",
    "densenet121_training": "DenseNet-121",
    "fambench_dlrm_training": "DLRM",
    "mixer_b16_224_training": "MLP-Mixer-B/16",
    "mobilenetv3_large_100_training": "MobileNetV3-L",
    "nvidia_deeprecommender_training": "DeepRecommender",
    "pytorch_struct_training": "Torch-Struct",
    "pytorch_unet_training": "U-Net",
    "regnety_002_training": "RegNetY-200MF",
    "resnet50_training": "ResNet-50",
    "speech_transformer_training": "Speech-Transformer",
    "tnt_s_patch16_224_training": "TNT-S",
    "tts_angular_training": "TTS speaker encoder",
    "vit_base_patch16_224_training": "ViT-B/16",
    "volo_d1_224_training": "VOLO-D1",
}
"""Names of the models, by the file's name without its suffix."""


@dataclass(frozen=True)
class Tensor:
    """A recorded tensor."""

    shape: tuple[int, ...]
    dtype: str
    strides: tuple[int, ...] = ()
    """Empty for a contiguous tensor."""

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def stored(self) -> int:
        """Number of elements in memory: an axis of stride zero has one."""
        steps = self.strides or (1,) * len(self.shape)
        extents = (extent if step else 1 for extent, step in zip(self.shape, steps, strict=True))
        return math.prod(extents) if self.size else 0


@dataclass(frozen=True)
class Dtype:
    """A recorded argument that is a dtype."""

    name: str


@dataclass(frozen=True)
class Layout:
    """A recorded argument that is a layout."""

    name: str


class Call(NamedTuple):
    """One distinct input of an operator in one run."""

    operator: str
    """As the file has it: `aten.add.Tensor`."""
    model: str
    count: int
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def read_folder(folder: Path) -> Iterator[Call]:
    """Yields every call of the folder's recordings, in the order of their names. Raises `KeyError`
    for a file whose model has no name here."""
    for path in sorted(folder.glob("*.txt")):
        yield from read(path.read_text(encoding="utf-8"), MODELS[path.stem])


INPUT = re.compile(r"cnt: (\d+), (.+)")


def read(text: str, model: str) -> Iterator[Call]:
    """Yields every call of one recording. Raises `ValueError` for a line that it cannot read."""
    operator = ""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("Operator: "):
            operator = line.removeprefix("Operator: ")
            continue
        found = INPUT.fullmatch(line)
        if not (operator and found):
            raise ValueError(f"line {number} of {model} is no operator and no input: {line[:80]}")
        unnamed, named = read_arguments(found[2])
        args = tuple(map(own, unnamed))
        kwargs = {name: own(value) for name, value in named.items()}
        if "layout" in kwargs:
            kwargs["layout"] = Layout(kwargs["layout"])
        yield Call(operator, model, int(found[1]), args, kwargs)


def own(value: Any) -> Any:
    """Returns an argument of a case as these modules have it."""
    if isinstance(value, tuple):
        return tuple(map(own, value))
    if isinstance(value, TensorSpec):
        return Tensor(value.shape, value.dtype, value.strides)
    if isinstance(value, DType):
        return Dtype(value.name)
    return value.value if isinstance(value, Number) else value
