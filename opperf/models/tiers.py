"""Tiers of TorchBench's models, of which the first has those that matter most, as PyTorch/XLA's
benchmarks rank them."""

from __future__ import annotations

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


def tier_of(name: str) -> int | None:
    """Returns the tier of a model of TorchBench; None of one without a rank."""
    return next((tier for tier, names in TIERS.items() if name in names), None)
