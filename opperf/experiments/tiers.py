"""Tiers of TorchBench's models, by which PyTorch/XLA's benchmarks select: the first has those that
matter most."""

from __future__ import annotations

import re
from collections.abc import Iterable

from opperf.errors import UsageError

_DETECTRON2 = ("101_c4", "101_fpn", "50_c4", "50_fpn")

_WORDS = {
    1: """
        BERT_pytorch cm3leon_generate DALLE2_pytorch dlrm hf_GPT2 hf_GPT2_large GPT_3 hf_T5
        hf_T5_base hf_T5_generate hf_T5_large llama_v2_7b_16h stable_diffusion_xl
    """,
    2: """
        alexnet attention_is_all_you_need_pytorch Background_Matting basic_gnn_gcn basic_gnn_gin
        basic_gnn_sage dcgan densenet121 detectron2_fasterrcnn_r_101_dc5
        detectron2_fasterrcnn_r_50_dc5 detectron2_fcos_r_50_fpn detectron2_maskrcnn fastNLP_Bert
        functorch_dp_cifar10 hf_Albert hf_Bart hf_Bert hf_Bert_large llama
    """,
    3: "doctr_det_predictor doctr_reco_predictor drq functorch_maml_omniglot",
}

TIERS: dict[int, tuple[str, ...]] = {tier: tuple(text.split()) for tier, text in _WORDS.items()}

TIERS[2] += tuple(
    f"detectron2_{network}_r_{name}"
    for network in ("fasterrcnn", "maskrcnn")
    for name in _DETECTRON2
)

NOTHING = r"(?!)"
"""A pattern that no name matches."""


def patterns_of(tiers: Iterable[int]) -> list[str]:
    """Returns a pattern for each tier, which matches its models' whole names, and no name for a
    number that is no tier."""
    return [
        f"^({'|'.join(map(re.escape, TIERS[tier]))})$" if tier in TIERS else NOTHING
        for tier in tiers
    ]


def joined(patterns: Iterable[str], option: str) -> re.Pattern[str] | None:
    """Returns the pattern that finds any of these, whatever the case; None without any. Raises
    `UsageError` for one that is no regular expression."""
    listed = list(patterns)
    for pattern in listed:
        try:
            re.compile(pattern)
        except re.error as error:
            raise UsageError(
                f"{option} {pattern!r} is no regular expression: {error}; put a \\ before signs "
                "that are meant as they are"
            ) from error
    return re.compile("|".join(listed), re.IGNORECASE) if listed else None
