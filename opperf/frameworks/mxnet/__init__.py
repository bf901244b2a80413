"""MXNet: its registry, arrays, autograd, profiler and memory counter. It supports MXNet 1.9.1 and
2.0.0b1, and finds their differences by looking for names, never by comparing versions."""

from __future__ import annotations

from pathlib import Path

from opperf.frameworks.capabilities import Framework
from opperf.frameworks.installed import Package, package_version, tested_range
from opperf.frameworks.kernel_sources import KernelSources
from opperf.numpy_aliases import PYTHON_BELOW, obstacle

PACKAGE = Package(
    name="mxnet",
    offers="forward, backward, memory; native and python profilers; cpu, gpu",
    requirement="opperf[mxnet]",
    tested=tested_range("mxnet"),
    build_files=("__init__.py", "libinfo.py", "libmxnet*"),
    below_python=PYTHON_BELOW,
    variables=("MXNET_CPU_WORKER_NTHREADS", "MXNET_ENGINE_TYPE"),
    # How often the calling thread and the engine's wait for each other moves a count by 0.3 %.
    counting_variables={"MXNET_ENGINE_TYPE": "NaiveEngine"},
    fork_variables={"MXNET_ENGINE_TYPE": "NaiveEngine"},
    obstacle=lambda: obstacle(package_version("numpy")),
)


KERNELS = "src/operator"

REGISTERING = (
    r"(NNVM_REGISTER_OP|MXNET_OPERATOR_REGISTER_\w+|MXNET_REGISTER_OP_PROPERTY"
    r"|MXNET_ADD_SPARSE_OP_ALIAS|MXNET_ADD_SPARSE_OP_ALIAS_\w+)"
)


def read_kernel_sources(repository: Path) -> KernelSources | None:
    """Returns where the operators of MXNet's repository are, registered by macros in C++; None for
    another repository."""
    if not (repository / KERNELS).is_dir():
        return None
    # Gradients are operators, too, that others name as theirs.
    return KernelSources((KERNELS,), registering=REGISTERING, through=r"_backward_")


def framework() -> Framework:
    """Returns the MXNet framework. Raises `ImportError` if MXNet is not installed."""
    from opperf.frameworks.mxnet.framework import MXNet

    return MXNet()
