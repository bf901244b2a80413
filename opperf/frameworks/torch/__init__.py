"""PyTorch: its dispatcher's operators, tensors, autograd, memory. Nothing else imports it."""

from __future__ import annotations

import os

from opperf.frameworks.capabilities import Framework
from opperf.frameworks.installed import Package, renamed, tested_range
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
