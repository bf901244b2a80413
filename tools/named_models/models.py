"""Models that rules name, as their packages build them: on no device, so that weights take no
memory."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch

Inputs = Mapping[str, Any]
"""Tensors, or lists of them, by the argument's name; empty for the first one."""

IMAGE = (1, 3, 224, 224)
TOKENS = 128


class Model(NamedTuple):
    """How to build a model, and call it."""

    package: str
    build: Callable[[Any], tuple[torch.nn.Module, Inputs]]
    """Takes the package; both are made on the `meta` device."""


def vision(name: str, shape: tuple[int, ...] = IMAGE, **options: Any) -> Model:
    """A model of torchvision, or of timm where its package is named in front: `timm.name`."""
    package, _, own = name.rpartition(".")

    def build(loaded: Any) -> tuple[torch.nn.Module, Inputs]:
        make = loaded.create_model if package == "timm" else _torchvision(loaded)
        return make(own, **options), {"": torch.empty(shape)}

    return Model(package or "torchvision", build)


def _torchvision(loaded: Any) -> Callable[..., torch.nn.Module]:
    return importlib.import_module(f"{loaded.__name__}.models").get_model


def text(
    family: str, model: str = "Model", tokens: int = TOKENS, cached: int = 0, **config: Any
) -> Model:
    """A model of transformers for tokens, by its configuration's changes, which writes keys and
    values to a cache of a length where one is given."""

    def build(loaded: Any) -> tuple[torch.nn.Module, Inputs]:
        made = getattr(loaded, f"{family}Config")(**config)
        ids = torch.empty((1, tokens), dtype=torch.int64)
        inputs = {"input_ids": ids}
        if made.is_encoder_decoder:
            inputs["decoder_input_ids"] = ids
        if cached:
            inputs["past_key_values"] = loaded.StaticCache(config=made, max_cache_len=cached)
        return getattr(loaded, f"{family}{model}")(made), inputs

    return Model("transformers", build)


def features(
    family: str, name: str, shape: tuple[int, ...], model: str = "Model", **config: Any
) -> Model:
    """A model of transformers for sound or images, whose input has this name and shape."""

    def build(loaded: Any) -> tuple[torch.nn.Module, Inputs]:
        made = getattr(loaded, f"{family}Config")(**config)
        return getattr(loaded, f"{family}{model}")(made), {name: torch.empty(shape)}

    return Model("transformers", build)


def _whisper(loaded: Any) -> tuple[torch.nn.Module, Inputs]:
    # The base model, whose encoder takes 30 seconds.
    made = loaded.WhisperConfig(d_model=512, encoder_layers=6, encoder_attention_heads=8)
    encoder = loaded.models.whisper.modeling_whisper.WhisperEncoder(made)
    return encoder, {"input_features": torch.empty((1, 80, 3000))}


def _pyramid(loaded: Any) -> tuple[torch.nn.Module, Inputs]:
    # PSPNet's own size of images is 473, with an output stride of 8.
    module = loaded.models.upernet.modeling_upernet
    pooling = module.UperNetPyramidPoolingModule((1, 2, 3, 6), 2048, 512, align_corners=False)
    return pooling, {"": torch.empty((1, 2048, 60, 60))}


LLAMA_3 = {
    "vocab_size": 128256,
    "intermediate_size": 14336,
    "num_hidden_layers": 1,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
}
LLAMA_3_70B = {
    "hidden_size": 8192,
    "intermediate_size": 28672,
    "num_hidden_layers": 1,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
}


def _bert(units: int) -> Model:
    changes = {"intermediate_size": 4 * units, "num_attention_heads": units // 64}
    return text("Bert", hidden_size=units, num_hidden_layers=1, **changes)


def _experts(family: str, experts: int, inside: int, **changes: Any) -> Model:
    changes = {"num_hidden_layers": 1, "num_key_value_heads": 4, "head_dim": 128, **changes}
    return text(
        family,
        hidden_size=2048,
        num_attention_heads=32,
        num_experts=experts,
        num_experts_per_tok=8,
        moe_intermediate_size=inside,
        # Each token by the weights of its experts: other ways need a device, or contents.
        experts_implementation="batched_mm",
        **changes,
    )


def _bart(units: int, **changes: Any) -> Model:
    for side in ("encoder", "decoder"):
        changes |= {
            f"{side}_layers": 1,
            f"{side}_ffn_dim": 4 * units,
            f"{side}_attention_heads": units // 64,
        }
    # Others look for padding, of which there is none on no device.
    return text("Bart", d_model=units, attn_implementation="eager", **changes)


MODELS: Mapping[str, Model] = {
    "3D ResNet-18": vision("r3d_18", (1, 3, 16, 112, 112)),
    "BART-base": _bart(768),
    "BART-large": _bart(1024, tokens=1024),
    "BERT-base": text("Bert", "ForMaskedLM", num_hidden_layers=1),
    "BERT-large": _bert(1024),
    "BERT-mini": _bert(256),
    "BERT": text("Bert", "ForMaskedLM", num_hidden_layers=1),
    "ConvNeXt-T": vision("convnext_tiny"),
    "ConvNeXt": vision("convnext_tiny"),
    "DeepLabv3": vision("deeplabv3_resnet50", (1, 3, 513, 513), weights_backbone=None),
    "DeepLab": vision("deeplabv3_resnet50", weights_backbone=None),
    "DenseNet-121": vision("densenet121"),
    "DenseNet": vision("densenet121"),
    "EfficientNet-B0": vision("efficientnet_b0"),
    # The paper's images have a shorter side of 600: of 608, the network halves four times.
    "Fast R-CNN with VGG-16": vision("vgg16", (1, 3, 608, 1024)),
    "FCN": vision("fcn_resnet50", (1, 3, 520, 520), weights_backbone=None),
    "FNet": text("FNet", tokens=512, num_hidden_layers=1),
    "GPT-2 medium": text("GPT2", n_embd=1024, n_head=16, n_layer=1),
    "GPT-2": text("GPT2", "LMHeadModel", tokens=1024, n_layer=1),
    "GoogLeNet": vision("googlenet", init_weights=False, aux_logits=False),
    "HiFi-GAN": features(
        "SpeechT5HifiGan",
        "spectrogram",
        (32, 80),
        model="",
        upsample_initial_channel=512,
        upsample_rates=[8, 8, 2, 2],
        upsample_kernel_sizes=[16, 16, 4, 4],
    ),
    "Inception-v3": vision("inception_v3", (1, 3, 299, 299), init_weights=False, aux_logits=False),
    "Inception": vision("inception_v3", (1, 3, 299, 299), init_weights=False, aux_logits=False),
    "Llama 2 7B": text("Llama", num_hidden_layers=1),
    "Llama 3 70B": text("Llama", tokens=1, cached=4096, **LLAMA_3_70B),
    "Llama 3 8B generating": text("Llama", tokens=1, cached=8192, **LLAMA_3),
    "Llama 3 8B": text("Llama", tokens=2048, cached=4096, **LLAMA_3),
    "Llama 3": text("Llama", "ForCausalLM", tokens=2048, cached=4096, **LLAMA_3),
    "Llama 3.1 8B": text("Llama", tokens=1, cached=131072, **LLAMA_3),
    "Llama 7B": text("Llama", num_hidden_layers=1),
    "Mistral 7B": text("Mistral", num_hidden_layers=1),
    "MobileNetV2": vision("mobilenet_v2"),
    "MobileNetV3": vision("mobilenet_v3_large"),
    "MobileNet": vision("timm.mobilenetv1_100"),
    "OPT-6.7B": text(
        "OPT", hidden_size=4096, ffn_dim=16384, num_attention_heads=32, num_hidden_layers=1
    ),
    "PSPNet": Model("transformers", _pyramid),
    "PoolFormer": vision("timm.poolformer_s12"),
    "Qwen3 30B A3B": _experts("Qwen3Moe", 128, 768, tokens=2048),
    # Of four layers, the last attends to all.
    "Qwen3.5 35B A3B": _experts("Qwen3_5MoeText", 256, 512, num_hidden_layers=4),
    "Qwen3": text("Qwen3", num_hidden_layers=1),
    "R(2+1)D": vision("r2plus1d_18", (1, 3, 16, 112, 112)),
    "RAFT": Model("torchvision", lambda loaded: _raft(loaded)),
    "ResNeXt-50": vision("resnext50_32x4d"),
    "ResNet-50 v2": vision("timm.resnetv2_50"),
    "ResNet-50 with group normalisation": vision("timm.resnet50_gn"),
    "ResNet-50": vision("resnet50"),
    "ResNet": vision("resnet50"),
    "RetinaNet": Model("torchvision", lambda loaded: _head(loaded)),
    "ShuffleNet v2": vision("shufflenet_v2_x1_0"),
    "Swin-T": vision("swin_t"),
    "Swin": vision("swin_t"),
    "T5-base": text("T5", d_model=768, d_ff=3072, num_layers=1, num_heads=12, num_decoder_layers=1),
    "VGG-16": vision("vgg16"),
    "VGG": vision("vgg16"),
    "ViT-B/16": vision("vit_b_16"),
    "ViT": vision("vit_b_16"),
    "Whisper": Model("transformers", _whisper),
    "YOLOv3": vision("timm.darknet53", (1, 3, 416, 416)),
    "wav2vec": features("Wav2Vec2", "input_values", (1, 16000), num_hidden_layers=1),
}
"""By the name that a configuration's reason begins with or has in it; of several, the longest."""


def _raft(loaded: Any) -> tuple[torch.nn.Module, Inputs]:
    make = _torchvision(loaded)
    frame = torch.empty((1, 3, 520, 960))
    return make("raft_large"), {"image1": frame, "image2": frame}


def _head(loaded: Any) -> tuple[torch.nn.Module, Inputs]:
    module = importlib.import_module(f"{loaded.__name__}.models.detection.retinanet")
    return module.RetinaNetClassificationHead(256, 9, 91), {"": [torch.empty((1, 256, 28, 28))]}
