"""Operators that only call another with the same arguments, which is measured for both names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from opperf.frameworks.installed import renamed

ALIKE = (
    "absolute=abs arccos=acos arccosh=acosh arcsin=asin arcsinh=asinh arctan=atan arctan2=atan2 "
    "arctanh=atanh clip=clamp clip.Tensor=clamp.Tensor concat=cat concatenate=cat det=linalg_det "
    "fix=trunc ger=outer inverse=linalg_inv linalg_matmul=matmul "
    "matrix_power=linalg_matrix_power moveaxis.int=movedim.int moveaxis.intlist=movedim.intlist "
    "negative=neg orgqr=linalg_householder_product row_stack=vstack slogdet=linalg_slogdet "
    "special_digamma=digamma special_erf=erf special_erfc=erfc special_erfinv=erfinv "
    "special_exp2=exp2 special_expit=sigmoid special_expm1=expm1 special_gammainc=igamma "
    "special_gammaincc=igammac special_gammaln=lgamma special_i0=i0 "
    "special_log_softmax=log_softmax.int special_log1p=log1p special_logit=logit "
    "special_logsumexp=logsumexp special_multigammaln=mvlgamma special_polygamma=polygamma "
    "special_psi=digamma special_sinc=sinc "
    "special_softmax=softmax.int special_xlogy=xlogy.Tensor "
    "special_xlogy.other_scalar=xlogy.Scalar_Other special_xlogy.self_scalar=xlogy.Scalar_Self "
    "swapaxes=transpose.int swapdims=transpose.int"
)
OF_BOTH = "greater=gt greater_equal=ge less=lt less_equal=le multiply=mul not_equal=ne subtract=sub"
"""With a tensor and with a number."""
DIVISION = ("Scalar", "Scalar_mode", "Tensor", "Tensor_mode")

CANONICAL: Mapping[str, str] = {
    **renamed(ALIKE),
    **{
        f"{name}.{overload}": f"{other}.{overload}"
        for name, other in renamed(OF_BOTH).items()
        for overload in ("Scalar", "Tensor")
    },
    **{
        f"{name}.{overload}": f"div.{overload}"
        for name in ("divide", "true_divide")
        for overload in DIVISION
        if name == "divide" or not overload.endswith("mode")
    },
}
"""The operator that each calls, by their names with the overloads that have one."""


def _by_canonical() -> Mapping[str, list[str]]:
    made: defaultdict[str, list[str]] = defaultdict(list)
    for name, canonical in CANONICAL.items():
        made[canonical].append(name)
    return dict(made)


OTHERS = _by_canonical()
"""The other names of each operator."""
