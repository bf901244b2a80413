"""Models of Hugging Face's transformers by configuration: a row for each, with real sizes.

Fields are those of the configuration class, whose other fields have its defaults. A size that says
"N of M layers" has the width of the published model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from opperf.models.base import SIZES


@dataclass(frozen=True)
class Size:
    """A configuration, and how much data is given to it."""

    source: str
    """The published model whose configuration it is."""
    batch: int
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    """A model of one architecture and task."""

    configuration: str
    model: str
    """Class of the model."""
    inputs: str
    """A key of `INPUTS` in `opperf.models.torch.transformers_models`."""
    why: str
    """The network, and where it was published."""
    sizes: Mapping[str, Size]
    """By the names in `SIZES`."""
    common: Mapping[str, Any]
    """Fields of all sizes."""
    length: int
    """Tokens of a sequence, or samples of a sound."""
    pixels: int
    """Rows, and columns, of an image."""


def _encoder(width: int, layers: int, heads: int, inner: int = 0) -> dict[str, Any]:
    """Returns the fields that encoders share; the inner width is four times the outer one."""
    return {
        "hidden_size": width,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "intermediate_size": inner or 4 * width,
    }


def _decoder(width: int, inner: int, layers: int, heads: int, shared: int = 0) -> dict[str, Any]:
    """Returns the fields of decoders like Llama; heads of keys and values may be shared."""
    return {**_encoder(width, layers, heads, inner), "num_key_value_heads": shared or heads}


def _seq2seq(width: int, layers: int, heads: int) -> dict[str, Any]:
    """Returns the fields that BART and Whisper share."""
    return {
        "d_model": width,
        "encoder_layers": layers,
        "decoder_layers": layers,
        "encoder_attention_heads": heads,
        "decoder_attention_heads": heads,
        "encoder_ffn_dim": 4 * width,
        "decoder_ffn_dim": 4 * width,
    }


def _t5(width: int, inner: int, layers: int, heads: int) -> dict[str, Any]:
    return {"d_model": width, "d_ff": inner, "num_layers": layers, "num_heads": heads}


NO_CACHE = {"use_cache": False}
"""A pass over a whole sequence, which keeps no keys and values for a next token."""

CLASSES = {"num_labels": 1000}
"""Those of ImageNet."""

BASE, LARGE = _encoder(768, 12, 12), _encoder(1024, 24, 16)

DEBERTA = {
    "vocab_size": 128100,
    "type_vocab_size": 0,
    "relative_attention": True,
    "position_buckets": 256,
    "norm_rel_ebd": "layer_norm",
    "share_att_key": True,
    "pos_att_type": ["p2c", "c2p"],
    "position_biased_input": False,
}

LLAMA_2 = {"vocab_size": 32000, "max_position_embeddings": 4096}
LLAMA_3 = {"vocab_size": 128256, "max_position_embeddings": 8192}
QWEN_2 = {"vocab_size": 151936, "tie_word_embeddings": True}
GRANITE = {"num_local_experts": 32, "num_experts_per_tok": 8, "vocab_size": 49155}


def _row(
    words: str,
    why: str,
    small: Size,
    default: Size,
    large: Size,
    common: Mapping[str, Any] = MappingProxyType({}),
    length: int = 128,
    pixels: int = 224,
) -> Row:
    """Returns a row; the words are the begin of both classes, the end of the model's, and the kind
    of inputs."""
    begin, end, inputs = words.split()
    sizes = dict(zip(SIZES, (small, default, large), strict=True))
    return Row(f"{begin}Config", f"{begin}{end}", inputs, why, sizes, common, length, pixels)


TABLE: Mapping[str, Row] = {
    "albert": _row(
        "Albert ForMaskedLM masked",
        "encoder whose layers share their weights (Lan et al. 2020)",
        Size("albert-base-v2, 2 of 12 layers", 4, _encoder(768, 2, 12)),
        Size("albert-base-v2", 4, BASE),
        Size("albert-large-v2", 8, LARGE),
    ),
    "bart": _row(
        "Bart ForConditionalGeneration seq2seq",
        "encoder and decoder of text (Lewis et al. 2020)",
        Size("bart-base, 1 of 6 layers", 2, _seq2seq(768, 1, 12)),
        Size("bart-base", 4, _seq2seq(768, 6, 12)),
        Size("bart-large", 8, _seq2seq(1024, 12, 16)),
        NO_CACHE,
    ),
    "bert": _row(
        "Bert ForMaskedLM masked",
        "encoder of text (Devlin et al. 2019)",
        Size("google/bert_uncased_L-4_H-256_A-4", 4, _encoder(256, 4, 4)),
        Size("bert-base-uncased", 4, BASE),
        Size("bert-large-uncased", 8, LARGE),
    ),
    "clip": _row(
        "CLIP Model text-image",
        "encoders of text and of images, compared pair by pair (Radford et al. 2021)",
        Size(
            "clip-vit-base-patch32, 2 of 12 layers",
            2,
            {"text_config": {"num_hidden_layers": 2}, "vision_config": {"num_hidden_layers": 2}},
        ),
        Size("clip-vit-base-patch32", 8),
        Size(
            "clip-vit-large-patch14",
            8,
            {
                "projection_dim": 768,
                "text_config": _encoder(768, 12, 12),
                "vision_config": {**LARGE, "patch_size": 14},
            },
        ),
        length=77,
    ),
    "convnext": _row(
        "ConvNext ForImageClassification images",
        "convolutions with the design of transformers (Liu et al. 2022)",
        Size("convnext-tiny, a block in each stage", 2, {"depths": [1, 1, 1, 1]}),
        Size("convnext-tiny-224", 8),
        Size(
            "convnext-base-224", 8, {"depths": [3, 3, 27, 3], "hidden_sizes": [128, 256, 512, 1024]}
        ),
        CLASSES,
    ),
    "deberta-v3": _row(
        "DebertaV2 ForMaskedLM masked",
        "encoder whose attention adds terms of relative positions (He et al. 2021)",
        Size("deberta-v3-small, 2 of 6 layers", 2, _encoder(768, 2, 12)),
        Size("deberta-v3-base", 4, BASE),
        Size("deberta-v3-large", 8, LARGE),
        DEBERTA,
    ),
    "electra": _row(
        "Electra ForPreTraining tokens",
        "encoder that finds replaced words (Clark et al. 2020)",
        Size("electra-small-discriminator", 4),
        Size("electra-base-discriminator", 4, {"embedding_size": 768, **BASE}),
        Size("electra-large-discriminator", 8, {"embedding_size": 1024, **LARGE}),
    ),
    "gpt2": _row(
        "GPT2 LMHeadModel causal",
        "decoder of text (Radford et al. 2019)",
        Size("gpt2, 2 of 12 layers", 2, {"n_layer": 2}),
        Size("gpt2", 4),
        Size("gpt2-medium", 8, {"n_embd": 1024, "n_layer": 24, "n_head": 16}),
        NO_CACHE,
    ),
    "granite-moe": _row(
        "GraniteMoe ForCausalLM causal",
        "decoder with a mixture of experts (IBM 2024)",
        Size("granite-3.0-1b-a400m, 1 of 24 layers", 1, _decoder(1024, 512, 1, 16, 8)),
        Size("granite-3.0-1b-a400m, 4 of 24 layers", 2, _decoder(1024, 512, 4, 16, 8)),
        Size("granite-3.0-1b-a400m", 4, _decoder(1024, 512, 24, 16, 8)),
        {**NO_CACHE, **GRANITE},
    ),
    "llama": _row(
        "Llama ForCausalLM causal",
        "decoder of text with rotary positions and gated layers (Touvron et al. 2023)",
        Size("stories15M of llama2.c", 2, {**LLAMA_2, **_decoder(288, 768, 6, 6)}),
        Size("Llama-2-7b, 2 of 32 layers", 1, {**LLAMA_2, **_decoder(4096, 11008, 2, 32)}),
        Size("Llama-3-8B, 4 of 32 layers", 2, {**LLAMA_3, **_decoder(4096, 14336, 4, 32, 8)}),
        NO_CACHE,
    ),
    "opt": _row(
        "OPT ForCausalLM causal",
        "decoder of text (Zhang et al. 2022)",
        Size("opt-125m, 2 of 12 layers", 2, {"num_hidden_layers": 2}),
        Size("opt-125m", 4),
        Size(
            "opt-350m",
            8,
            {
                "hidden_size": 1024,
                "num_hidden_layers": 24,
                "num_attention_heads": 16,
                "ffn_dim": 4096,
                "word_embed_proj_dim": 512,
                "do_layer_norm_before": False,
            },
        ),
        NO_CACHE,
    ),
    "pythia": _row(
        "GPTNeoX ForCausalLM causal",
        "decoder whose attention and dense layers are side by side (Biderman et al. 2023)",
        Size("pythia-14m", 2, _encoder(128, 6, 4)),
        Size("pythia-160m", 4, BASE),
        Size("pythia-410m", 8, LARGE),
        {**NO_CACHE, "vocab_size": 50304},
    ),
    "qwen2": _row(
        "Qwen2 ForCausalLM causal",
        "decoder whose heads share keys and values (Yang et al. 2024)",
        Size("Qwen2-0.5B, 2 of 24 layers", 1, _decoder(896, 4864, 2, 14, 2)),
        Size("Qwen2-0.5B", 1, _decoder(896, 4864, 24, 14, 2)),
        Size("Qwen2-1.5B", 2, _decoder(1536, 8960, 28, 12, 2)),
        {**NO_CACHE, **QWEN_2},
    ),
    "segformer": _row(
        "Segformer ForSemanticSegmentation pixels",
        "segmentation by a transformer of several resolutions (Xie et al. 2021)",
        Size("segformer-b0, a block in each stage", 1, {"depths": [1, 1, 1, 1]}),
        Size("segformer-b0", 2),
        Size(
            "segformer-b2",
            4,
            {
                "depths": [3, 4, 6, 3],
                "hidden_sizes": [64, 128, 320, 512],
                "decoder_hidden_size": 768,
            },
        ),
        {"num_labels": 150},
        pixels=512,
    ),
    "swin": _row(
        "Swin ForImageClassification images",
        "attention in windows that shift (Liu et al. 2021)",
        Size("swin-tiny, a pair of blocks in each stage", 2, {"depths": [2, 2, 2, 2]}),
        Size("swin-tiny-patch4-window7-224", 8),
        Size(
            "swin-base-patch4-window7-224",
            8,
            {"embed_dim": 128, "depths": [2, 2, 18, 2], "num_heads": [4, 8, 16, 32]},
        ),
        CLASSES,
    ),
    "t5": _row(
        "T5 ForConditionalGeneration seq2seq",
        "encoder and decoder of text with relative positions (Raffel et al. 2020)",
        Size("t5-efficient-tiny", 4, _t5(256, 1024, 4, 4)),
        Size("t5-small", 4, _t5(512, 2048, 6, 8)),
        Size("t5-base", 8, _t5(768, 3072, 12, 12)),
        {**NO_CACHE, "pad_token_id": 0, "decoder_start_token_id": 0},
    ),
    "vit": _row(
        "ViT ForImageClassification images",
        "encoder of patches of images (Dosovitskiy et al. 2021)",
        Size("vit-tiny-patch16-224", 2, _encoder(192, 12, 3)),
        Size("vit-base-patch16-224", 8, BASE),
        Size("vit-large-patch16-224", 8, LARGE),
        CLASSES,
    ),
    "wav2vec2": _row(
        "Wav2Vec2 ForCTC sound",
        "recogniser of speech in samples of sound (Baevski et al. 2020)",
        Size("wav2vec2-base, 2 of 12 layers", 1, _encoder(768, 2, 12)),
        Size("wav2vec2-base", 2, BASE),
        Size("wav2vec2-large", 4, LARGE),
        # Without masks, whose number differs with every step.
        {"apply_spec_augment": False},
        length=32_000,
    ),
    "whisper": _row(
        "Whisper ForConditionalGeneration spectrogram",
        "recogniser of 30 s of speech (Radford et al. 2022)",
        Size("whisper-tiny", 1, _seq2seq(384, 4, 6)),
        Size("whisper-base", 2, _seq2seq(512, 6, 8)),
        Size("whisper-small", 4, _seq2seq(768, 12, 12)),
        NO_CACHE,
    ),
}
"""Rows by name, sorted."""
