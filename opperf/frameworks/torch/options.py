"""PyTorch's options that hold for a process: flags of its back ends, setters, and those that a call
may leave changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, reduce
from typing import Any, NamedTuple

import torch

from opperf.errors import UsageError, suggest
from opperf.frameworks.base import ProcessPart
from opperf.frameworks.capabilities import FACTOR, SMALL, denormals
from opperf.frameworks.torch.modes import set_whole_graphs

Read = Callable[[str], Any]


def _boolean(text: str) -> bool:
    values = {"true": True, "false": False}
    if text.lower() not in values:
        raise ValueError("is true or false")
    return values[text.lower()]


def _count(text: str) -> int:
    if not text.isdecimal():
        raise ValueError("is an integer")
    return int(text)


def _one_of(*words: str) -> Read:
    def read(text: str) -> str:
        if text.lower() not in words:
            raise ValueError(f"is one of {', '.join(words)}")
        return text.lower()

    return read


def _engine(text: str) -> str:
    return str(_one_of(*torch.backends.quantized.supported_engines)(text))


class _Option(NamedTuple):
    """How the text of an option is read, and whether it is set by a call of a function."""

    read: Read
    is_function: bool = False


def _flags(read: Read, names: str) -> dict[str, _Option]:
    return {f"torch.backends.{name}": _Option(read) for name in names.split()}


def _setters(read: Read, names: str) -> dict[str, _Option]:
    return {f"torch.{name}": _Option(read, is_function=True) for name in names.split()}


OPTIONS: Mapping[str, _Option] = {
    **_flags(
        _boolean,
        "cuda.matmul.allow_tf32 cuda.matmul.allow_fp16_accumulation "
        "cuda.matmul.allow_fp16_reduced_precision_reduction "
        "cuda.matmul.allow_bf16_reduced_precision_reduction cudnn.allow_tf32 cudnn.benchmark "
        "cudnn.deterministic cudnn.enabled mkldnn.deterministic mkldnn.enabled opt_einsum.enabled",
    ),
    **_flags(_count, "cudnn.benchmark_limit"),
    **_flags(
        _one_of("none", "ieee", "tf32"),
        "fp32_precision cuda.matmul.fp32_precision cudnn.fp32_precision cudnn.conv.fp32_precision "
        "cudnn.rnn.fp32_precision",
    ),
    **_flags(
        _one_of("none", "ieee", "tf32", "bf16"),
        "mkldnn.fp32_precision mkldnn.matmul.fp32_precision mkldnn.conv.fp32_precision "
        "mkldnn.rnn.fp32_precision",
    ),
    **_flags(_engine, "quantized.engine"),
    **_setters(
        _boolean,
        "use_deterministic_algorithms set_flush_denormal backends.cuda.enable_cudnn_sdp "
        "backends.cuda.enable_flash_sdp backends.cuda.enable_math_sdp "
        "backends.cuda.enable_mem_efficient_sdp backends.cuda.allow_fp16_bf16_reduction_math_sdp "
        "backends.mha.set_fastpath_enabled",
    ),
    **_setters(_one_of("highest", "high", "medium"), "set_float32_matmul_precision"),
    **_setters(_one_of("default", "cusolver", "magma"), "backends.cuda.preferred_linalg_library"),
    **_setters(
        _one_of("default", "cublas", "cublaslt", "ck"), "backends.cuda.preferred_blas_library"
    ),
}
"""Options that decide how operators compute, and are no settings of opperf's own."""


OWN: Mapping[str, tuple[Read, Callable[[Any], object]]] = {
    "torch.compile.fullgraph": (_boolean, set_whole_graphs)
}
"""Options of how opperf calls PyTorch, each with what sets it."""


def option(name: str, text: str) -> Callable[[], object]:
    """Returns a callable that sets an option, as `Processes.option`. The callable raises
    `UsageError` for a value that this build does not take."""
    known = (*OPTIONS, *OWN)
    if name not in known:
        near = suggest(name, known) or f"; torch has: {', '.join(known)}"
        raise UsageError(f"unknown option {name!r}{near}")
    read, is_function = OPTIONS[name] if name in OPTIONS else (OWN[name][0], True)
    try:
        value = read(text)
    except ValueError as error:
        raise UsageError(f"--set {name}={text}: it {error}") from error
    if name in OWN:
        return partial(OWN[name][1], value)
    *path, last = name.split(".")[1:]
    owner = reduce(getattr, path, torch)
    if not hasattr(owner, last):
        raise UsageError(f"--set {name}: PyTorch {torch.__version__} has no such option")
    setter = getattr(owner, last) if is_function else partial(setattr, owner, last)

    def apply() -> None:
        try:
            setter(value)
        except RuntimeError as error:
            raise UsageError(f"--set {name}={text}: {str(error).splitlines()[0]}") from error

    return apply


def numerics() -> dict[str, str]:
    """Returns the settings of precision, as `Processes.numerics`."""
    product = torch.full((1,), SMALL) * torch.full((1,), FACTOR)
    found = {**denormals(product.item()), "products": torch.get_float32_matmul_precision()}
    if torch.cuda.is_available():
        products = torch.backends.cuda.matmul
        reductions = (
            products.allow_fp16_reduced_precision_reduction,
            products.allow_bf16_reduced_precision_reduction,
        )
        found["TF32"] = _yes(products.allow_tf32 or torch.backends.cudnn.allow_tf32)
        found["reduced-precision reductions"] = _yes(any(reductions))
    return found


def _yes(is_on: bool) -> str:
    return "on" if is_on else "off"


PARTS = tuple(
    ProcessPart(f"PyTorch's {what}", read, restore, is_set_up=True)
    for what, read, restore in (
        ("default dtype changed", torch.get_default_dtype, torch.set_default_dtype),
        ("number of threads changed", torch.get_num_threads, torch.set_num_threads),
        ("gradients turned on or off", torch.is_grad_enabled, torch.set_grad_enabled),
        (
            "deterministic algorithms changed",
            lambda: (
                torch.are_deterministic_algorithms_enabled(),
                torch.is_deterministic_algorithms_warn_only_enabled(),
            ),
            lambda before: torch.use_deterministic_algorithms(before[0], warn_only=before[1]),
        ),
        (
            "precision of matrix products changed",
            torch.get_float32_matmul_precision,
            torch.set_float32_matmul_precision,
        ),
        ("default device changed", torch.get_default_device, torch.set_default_device),
    )
)
