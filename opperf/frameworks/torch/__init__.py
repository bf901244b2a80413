"""PyTorch: its dispatcher's operators, tensors, autograd, memory. Nothing else imports it."""

from __future__ import annotations

import os

from opperf.frameworks.capabilities import Framework
from opperf.frameworks.installed import HLO, CompilerDump, Package, renamed, tested_range
from opperf.frameworks.torch.kernel_sources import read_kernel_sources as read_kernel_sources

SUCCESSORS = renamed(
    "_cat=cat _stack=stack btrifact=linalg_lu_factor btrisolve=linalg_lu_solve eig=linalg_eig "
    "fft=fft_fft gels=linalg_lstsq gesv=linalg_solve ifft=fft_ifft irfft=fft_irfft "
    "lstsq=linalg_lstsq matrix_rank=linalg_matrix_rank potrf=cholesky potri=cholesky_inverse "
    "potrs=cholesky_solve pstrf=linalg_cholesky rfft=fft_rfft solve=linalg_solve "
    "symeig=linalg_eigh trtrs=triangular_solve"
)
"""Operators that have taken the place of others, by the names of these. Source: the release notes
of PyTorch 0.4 to 2.0, and the errors of the functions that are left."""

PROCESSES = 2
"""Processes of the group that collectives are measured in: as many as share a model at least, and
as the smallest machines have cores."""

COUNTERS_FILE = "OPPERF_COMPILER_COUNTERS"
"""Environment variable with the path of a JSON file, to which the counters of the compiler of a
case are written."""


def _is_lazy(mode: str) -> bool:
    return mode == "xla"


def _is_by_xla(mode: str) -> bool:
    return _is_lazy(mode) or "openxla" in mode


def _is_by_dynamo(mode: str) -> bool:
    return mode.partition(":")[0] == "compile"


DUMPS = (
    CompilerDump("hlo", HLO, _is_by_xla),
    CompilerDump(
        "ir", {"TORCH_COMPILE_DEBUG": "1", "TORCH_COMPILE_DEBUG_DIR": "{folder}"}, _is_by_dynamo
    ),
    CompilerDump(
        "ir", {"XLA_SAVE_TENSORS_FILE": "{folder}/ir.txt", "XLA_SAVE_TENSORS_FMT": "text"}, _is_lazy
    ),
    CompilerDump(
        "stablehlo",
        {"XLA_SAVE_TENSORS_FILE": "{folder}/stablehlo.mlir", "XLA_SAVE_TENSORS_FMT": "stablehlo"},
        _is_by_xla,
    ),
    CompilerDump("counters", {COUNTERS_FILE: "{folder}/dynamo.json"}, _is_by_dynamo),
    CompilerDump("xla_metrics", {"XLA_METRICS_FILE": "{folder}/metrics.txt"}, _is_by_xla),
)
"""Graphs of torch.compile with inductor's code, graphs of PyTorch/XLA, modules of XLA, counters."""

TABLES = "SplitTableBatchedEmbeddingBagsCodegen"

PACKAGE = Package(
    name="torch",
    offers="forward, backward, memory; native and python profilers; cpu, gpu",
    requirement="opperf[torch]",
    tested=tested_range("torch"),
    # Without it pip takes the build for CUDA on Linux, some gigabytes.
    install_remark="; for CPUs only, add: --extra-index-url https://download.pytorch.org/whl/cpu",
    build_files=("version.py", "lib/libtorch_cpu.so", "lib/libtorch_cuda.so"),
    variables=(
        *("ATEN_CPU_CAPABILITY", "CUBLAS_WORKSPACE_CONFIG", "DNNL_MAX_CPU_ISA"),
        *("NVIDIA_TF32_OVERRIDE", "ONEDNN_MAX_CPU_ISA", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_JIT"),
        *("TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "TORCH_BLAS_PREFER_CUBLASLT"),
        "TORCH_CUDNN_V8_API_DISABLED",
    ),
    precise_options={
        "torch.backends.cuda.matmul.allow_tf32": "false",
        "torch.backends.cudnn.allow_tf32": "false",
        "torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction": "false",
        "torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction": "false",
    },
    dumps=DUMPS,
    successors=SUCCESSORS,
    # FBGEMM's tables of embeddings.
    objects={TABLES: f"{__name__}.embedding_tables:{TABLES}"},
)


def framework() -> Framework:
    """Returns PyTorch, imported."""
    # Without it, PyTorch prints a warning for each tensor that is freed while memory is measured
    # and was made before. It is read when PyTorch is imported.
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
    from opperf.frameworks.torch.framework import PyTorch

    return PyTorch()
