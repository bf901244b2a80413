"""Operators without a public name that functions of PyTorch's users call, and which functions."""

from __future__ import annotations

from collections.abc import Mapping

CALLED: Mapping[str, str] = {
    "torch.optim": (
        "_foreach_abs _foreach_abs_ _foreach_add.List _foreach_add.Scalar _foreach_add_.List "
        "_foreach_add_.Scalar _foreach_add_.ScalarList _foreach_add_.Tensor "
        "_foreach_addcdiv_.Scalar _foreach_addcdiv_.ScalarList _foreach_addcmul.Scalar "
        "_foreach_addcmul_.Scalar _foreach_copy_ _foreach_div_.List _foreach_div_.ScalarList "
        "_foreach_lerp_.Scalar _foreach_lerp_.ScalarList _foreach_maximum_.List "
        "_foreach_mul.List _foreach_mul.ScalarList _foreach_mul_.List _foreach_mul_.Scalar "
        "_foreach_mul_.ScalarList _foreach_neg _foreach_neg_ _foreach_reciprocal_ "
        "_foreach_rsqrt_ _foreach_sign_ _foreach_sqrt _foreach_sqrt_ _foreach_sub.List "
        "_foreach_zero_ _fused_adagrad_ _fused_adam_ _fused_adamw_ _fused_sgd_"
    ),
    "torch.nn.utils.clip_grad_norm_": "_foreach_norm.Scalar _foreach_mul_.Tensor",
    "torch.nn.utils.clip_grad_value_": "_foreach_clamp_min_.Scalar _foreach_clamp_max_.Scalar",
    "torch.amp.GradScaler": "_amp_foreach_non_finite_check_and_unscale_ _amp_update_scale_",
    "torch.nn.functional.grouped_mm": "_grouped_mm",
    "torch.nn.functional.scaled_mm": "_scaled_mm_v2",
    "torch.nn.functional.scaled_grouped_mm": "_scaled_grouped_mm_v2",
    "torch.nn.functional.interpolate": (
        "_upsample_bilinear2d_aa _upsample_bicubic2d_aa _upsample_lanczos2d_aa "
        "_upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d"
    ),
    "torch.nn.attention.varlen.varlen_attn": "_flash_attention_forward",
    "torch.unique": "_unique2",
    "torch.sparse.mm": "_sparse_mm _sparse_mm.reduce",
    "torch.sparse.addmm": "_sparse_addmm",
    "torch.sparse.sum": "_sparse_sum _sparse_sum.dim",
    "torch.sparse.softmax": "_sparse_softmax.int",
    "torch.sparse.log_softmax": "_sparse_log_softmax.int",
    "torchao": (
        "_scaled_mm _scaled_grouped_mm _int_mm _weight_int8pack_mm _weight_int4pack_mm "
        "_weight_int4pack_mm_for_cpu"
    ),
}
"""By function, module or package. What a public operator of the dispatcher calls is measured with
that operator, and not here."""

BY_OPERATOR: Mapping[str, str] = {
    name: caller for caller, names in CALLED.items() for name in names.split()
}
"""The last caller of each operator, by its name with the overload if that has a name."""
