"""FBGEMM's tables of embeddings in one operator, as PARAM builds them."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import torch

from opperf.errors import UnsupportedError
from opperf.model import ObjectTarget, Target

MODULES = (
    "fbgemm_gpu.split_embedding_configs",
    "fbgemm_gpu.split_table_batched_embeddings_ops_common",
    "fbgemm_gpu.split_table_batched_embeddings_ops_training",
)
"""FBGEMM's modules with the operator and its enumerations."""

RESERVED_GB = 12.0
"""Memory that PARAM leaves free of the cache of tables in host memory."""


class SplitTableBatchedEmbeddingBagsCodegen:
    """How to build the tables. They are made for their device, and cannot be moved."""

    def __init__(
        self,
        num_tables: int,
        rows: int | Sequence[int],
        dims: int | Sequence[int],
        pooling: int,
        weighted: bool,
        weights_precision: str,
        optimizer: str,
        lr: float = 0.01,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        """`pooling`, `weights_precision` and `optimizer` are values of FBGEMM's enumerations;
        `weighted` is for the inputs alone. Raises `UnsupportedError` without FBGEMM."""
        self._tables = list(zip(_each(rows, num_tables), _each(dims, num_tables), strict=True))
        self._pooling, self._precision, self._optimizer = pooling, weights_precision, optimizer
        self._rates = {"learning_rate": lr, "eps": eps, "weight_decay": weight_decay}
        _fbgemm()

    def on(self, device: torch.device) -> torch.nn.Module:
        ops = _fbgemm()
        on_cpu = device.type == "cpu"
        location = ops.EmbeddingLocation.HOST if on_cpu else ops.EmbeddingLocation.DEVICE
        compute = ops.ComputeDevice.CPU if on_cpu else ops.ComputeDevice.CUDA
        built: torch.nn.Module = ops.SplitTableBatchedEmbeddingBagsCodegen(
            [(rows, width, location, compute) for rows, width in self._tables],
            optimizer=ops.EmbOptimType(self._optimizer),
            pooling_mode=ops.PoolingMode(self._pooling),
            weights_precision=ops.SparseType(self._precision),
            stochastic_rounding=True,
            cache_algorithm=ops.CacheAlgorithm.LFU,
            cache_load_factor=0.0,
            cache_reserved_memory=RESERVED_GB,
            device=device,
            **self._rates,
        )
        return built


def is_fused(target: Target) -> bool:
    """Whether a target's backward pass updates its weights, as that of these tables does."""
    return isinstance(target, ObjectTarget) and target.path.startswith(f"{__name__}:")


def _each(value: int | Sequence[int], count: int) -> list[int]:
    found = list(value) if isinstance(value, (list, tuple)) else [int(str(value))] * count
    if len(found) != count:
        raise UnsupportedError(f"tables: {count}; numbers of rows or columns: {len(found)}")
    return found


def _fbgemm() -> Any:
    """Returns the names of FBGEMM's modules. Raises `UnsupportedError` without one."""
    found: dict[str, Any] = {}
    try:
        for name in MODULES:
            found |= vars(importlib.import_module(name))
    except Exception as error:
        raise UnsupportedError(
            f"needs FBGEMM: pip install fbgemm-gpu-cpu, or fbgemm-gpu for GPUs, of the version for "
            f"PyTorch {torch.__version__} ({type(error).__name__}: {error})"
        ) from error
    return SimpleNamespace(**found)
