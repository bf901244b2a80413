"""Where MXNet's repository has its operators: they are registered by macros in C++."""

from __future__ import annotations

from pathlib import Path

from opperf.frameworks.kernel_sources import KernelSources

FOLDER = "src/operator"

REGISTERING = (
    r"(NNVM_REGISTER_OP|MXNET_OPERATOR_REGISTER_\w+|MXNET_REGISTER_OP_PROPERTY"
    r"|MXNET_ADD_SPARSE_OP_ALIAS|MXNET_ADD_SPARSE_OP_ALIAS_\w+)"
)

GRADIENTS = r"_backward_"
"""How the operators of gradients begin, which other operators name as theirs."""


def read(repository: Path) -> KernelSources | None:
    """Returns where the operators of MXNet's repository are; None for another repository."""
    if not (repository / FOLDER).is_dir():
        return None
    return KernelSources(folders=(FOLDER,), registering=REGISTERING, through=GRADIENTS)
