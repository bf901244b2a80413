"""PyTorch: its dispatcher's operators, tensors, autograd, memory. The only package that imports
it."""

from __future__ import annotations

import os

from opperf.frameworks.capabilities import Framework
from opperf.frameworks.installed import Package
from opperf.frameworks.torch.renamed import SUCCESSORS

TABLES = "SplitTableBatchedEmbeddingBagsCodegen"

PACKAGE = Package(
    name="torch",
    offers="forward, backward, memory; native and python profilers; cpu, gpu",
    requirement="opperf[torch]",
    tested=("2.5", "2.13"),
    # Without it pip takes the build for CUDA on Linux, some gigabytes.
    install_remark="; for CPUs only, add: --extra-index-url https://download.pytorch.org/whl/cpu",
    build_files=("version.py", "lib/libtorch_cpu.so", "lib/libtorch_cuda.so"),
    variables=(
        "ATEN_CPU_CAPABILITY",
        "CUBLAS_WORKSPACE_CONFIG",
        "DNNL_MAX_CPU_ISA",
        "NVIDIA_TF32_OVERRIDE",
        "ONEDNN_MAX_CPU_ISA",
        "PYTORCH_CUDA_ALLOC_CONF",
        "PYTORCH_JIT",
        "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
        "TORCH_BLAS_PREFER_CUBLASLT",
        "TORCH_CUDNN_V8_API_DISABLED",
    ),
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
