"""The field's names of canonical operations, where those are called otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from opperf.operations import OPERATIONS


class Named(NamedTuple):
    """An operation that a name means."""

    operation: str
    axes: int | None = None
    """Number of axes that its first tensor has; None for any."""


SYNONYMS = """
absolute=abs subtract=sub multiply=mul divide=div|true_divide negative=neg|negate power=pow
remainder=mod floor_divide=floordiv arccos=acos arccosh=acosh arcsin=asin arcsinh=asinh arctan=atan
arctan2=atan2 arctanh=atanh gammaln=lgamma not_equal=ne equal=eq less=lt less_equal=le greater=gt
greater_equal=ge bitwise_not=invert conjugate=conj clip=clamp max=amax min=amin norm=l2_norm
silu=swish hard_swish=hardswish hard_sigmoid=hardsigmoid hard_tanh=hardtanh leaky_relu=leakyrelu
gelu_tanh=gelu_approximate log_sigmoid=logsigmoid log_softmax=logsoftmax
matrix_product=matmul scaled_matrix_product=gemm|addmm
dense=linear|fully_connected outer_product=outer inner_product=inner kronecker_product=kron
cross_product=cross vector_dot=vdot convolution=conv deconvolution=conv_transpose
max_pooling=max_pool pooling=pool layer_norm=layernorm batch_norm=batchnorm group_norm=groupnorm
instance_norm=instancenorm rms_norm=rmsnorm attention=sdpa|scaled_dot_product_attention
determinant=det inverse=inv pseudo_inverse=pinv sign_and_log_determinant=slogdet
eigenvalues=eigvals eigenvalues_of_symmetric=eigvalsh eigenvectors=eig
eigenvectors_of_symmetric=eigh least_squares=lstsq matrix_exponential=expm
concatenate=concat|cat transpose=permute top_k=topk kth_smallest=kthvalue one_hot=onehot
expand_dims=unsqueeze fourier_transform=fft inverse_fourier_transform=ifft
real_fourier_transform=rfft inverse_real_fourier_transform=irfft
short_time_fourier_transform=stft squared_error_loss=mse_loss|mse absolute_error_loss=l1_loss
negative_log_likelihood=nll_loss binary_cross_entropy_of_logits=bce_with_logits
binary_cross_entropy=bce kl_divergence=kl_div upsample_linear=upsample_bilinear
upsample_nearest=interpolate_nearest gamma_sample_derivative=gamma_derivative
"""
"""Further names of operations that have a name alone, `operation=name|name`."""

OF_AXES = {
    **{f"conv{n}d": ("convolution", n + 2) for n in (1, 2, 3)},
    **{f"conv_transpose{n}d": ("deconvolution", n + 2) for n in (1, 2, 3)},
    **{f"max_pool{n}d": ("max_pooling", n + 2) for n in (1, 2, 3)},
    "mm": ("matrix_product", 2),
    "bmm": ("matrix_product", 3),
    "batch_matmul": ("matrix_product", 3),
}
"""Names of operations of tensors with a number of axes."""


def _synonyms() -> dict[str, Named]:
    pairs = (word.split("=") for word in SYNONYMS.split())
    return {name: Named(operation) for operation, names in pairs for name in names.split("|")}


ALIASES: Mapping[str, Named] = {
    **_synonyms(),
    **{name: Named(*meant) for name, meant in OF_AXES.items()},
}
"""By the field's name."""


def names_of_operation(operation: str) -> tuple[set[str], set[str]]:
    """Returns the names of an operation, its own and the field's: those of tensors of any number of
    axes, and those of one number."""
    alike = {name: own for name, own in ALIASES.items() if own.operation == operation}
    whole = {name for name, own in alike.items() if own.axes is None}
    return {operation, *whole}, alike.keys() - whole


def named(name: str) -> Named | None:
    """Returns the operation of a name, its own or the field's, in upper or lower case; None of any
    other."""
    own = next((form for form in (name, name.lower()) if form in OPERATIONS), None)
    return ALIASES.get(name.lower()) if own is None else Named(own)
