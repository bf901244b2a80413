"""PyTorch: its dispatcher's operators, tensors, autograd, memory. The only package that imports
it."""

from __future__ import annotations

from opperf.frameworks.base import Framework
from opperf.frameworks.installed import Package

PACKAGE = Package(
    name="torch",
    offers="forward, backward, memory; native and python profilers; cpu, gpu",
    requirement="opperf[torch]",
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
)


def framework() -> Framework:
    """PyTorch, imported."""
    from opperf.frameworks.torch.framework import PyTorch

    return PyTorch()
