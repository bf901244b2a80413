"""The canonical operations of losses, as `table` has the others."""

from __future__ import annotations

from opperf.operations.canonical import CanonicalOperation, operations

ALL: tuple[CanonicalOperation, ...] = (
    *operations(
        "losses",
        {
            "data:tensor label:tensor": "ctc_loss softmax_cross_entropy",
            "x:tensor y:tensor reduction:enum": (
                "absolute_error_loss soft_margin_loss squared_error_loss"
            ),
            "x:tensor y:tensor reduction:enum delta:float": "huber_loss",
            "x:tensor y:tensor reduction:enum beta:float": "smooth_l1_loss",
            "x:tensor y:tensor reduction:enum margin:float": "hinge_embedding_loss",
            "x:tensor y:tensor reduction:enum weight:tensor": "binary_cross_entropy",
            "x:tensor y:tensor reduction:enum weight:tensor positive_weight:tensor": (
                "binary_cross_entropy_of_logits"
            ),
            "x:tensor y:tensor reduction:enum is_log:bool": "kl_divergence",
            "x:tensor y:tensor reduction:enum is_log:bool full:bool epsilon:float": "poisson_loss",
            "x:tensor y:tensor order:tensor reduction:enum margin:float": "margin_ranking_loss",
            "x:tensor y:tensor sign:tensor reduction:enum margin:float": "cosine_embedding_loss",
            (
                "anchor:tensor positive:tensor negative:tensor reduction:enum margin:float "
                "order:float epsilon:float swap:bool"
            ): "triplet_margin_loss",
            "data:tensor label:tensor reduction:enum": "multilabel_margin_loss",
            "data:tensor label:tensor reduction:enum power:float margin:float weight:tensor": (
                "multi_margin_loss"
            ),
            "data:tensor label:tensor reduction:enum weight:tensor ignored:int": (
                "negative_log_likelihood"
            ),
            "data:tensor label:tensor reduction:enum weight:tensor ignored:int smoothing:float": (
                "cross_entropy"
            ),
            (
                "log_probabilities:tensor label:tensor steps:tensor lengths:tensor reduction:enum"
            ): "ctc_loss_of_log_probabilities",
            "x:tensor sigma:float": "smooth_l1",
        },
    ),
)
