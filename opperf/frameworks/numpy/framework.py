"""NumPy as opperf's `Framework`: the pieces of this package put together."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np
import psutil

from opperf.errors import DeviceError, NoGradientError, UnsupportedError, UsageError
from opperf.frameworks.base import Gradient, MemoryReading, Tracer
from opperf.frameworks.numpy import (
    functions,
    inference,
    memory,
    messages,
    registry,
    signatures,
    source,
    tensors,
)
from opperf.model import Case, Operator, OperatorTarget, Target, TensorSpec

CPU = "cpu(0)"
"""The only device."""

DEVICE = re.compile(r"^(cpu|gpu)(\((\d+)\))?$")


class NumPy:
    """The framework, for one process."""

    name = registry.FRAMEWORK
    rules = "opperf.rules.numpy"
    profilers: tuple[str, ...] = ("python",)
    dtypes: tuple[str, ...] = registry.DTYPES
    variables: tuple[str, ...] = ("NPY_DISABLE_CPU_FEATURES",)
    gradients: bool = False

    def __init__(self) -> None:
        # Read now, once: each fork of the process that loads this would read it anew.
        registry.by_identity()

    def version(self) -> str:
        return np.__version__

    def versions(self) -> dict[str, str]:
        """Versions of NumPy and of the library it was built with."""
        return {"numpy": self.version(), **_libraries()}

    def features(self) -> dict[str, bool]:
        """The processor's instruction sets that NumPy has kernels for, and whether it uses
        them here."""
        # NumPy 2 calls its `core` `_core`.
        core: Any = getattr(np, "_core", None) or np.core
        return dict(core._multiarray_umath.__cpu_features__)

    def devices(self) -> tuple[str, ...]:
        return (CPU,)

    def parse_device(self, text: str) -> str:
        match = DEVICE.match(text.strip().lower())
        if match is None:
            raise UsageError(f"unknown device {text!r}; use cpu or {CPU}")
        if match.group(1) != "cpu" or int(match.group(3) or 0):
            raise DeviceError(f"{text}: NumPy computes on the processor only; use --ctx cpu")
        return CPU

    def device_memory(self, device: str) -> int:
        return int(psutil.virtual_memory().available)

    def no_large_tensors(self) -> str:
        return ""

    def registered(self) -> int:
        return len(registry.public_functions())

    def operators(self) -> tuple[Operator, ...]:
        return registry.operators()

    def resolve(self, name: str) -> Operator | None:
        return registry.by_name().get(name)

    def target_of(self, function: Callable[..., Any]) -> Target:
        return functions.target_of(function)

    def callable_target(self, path: str) -> Target:
        return functions.target_at(path)

    def signature(self, target: Target, function: Callable[..., Any] | None = None) -> Operator:
        return functions.signature(target, function or self.function(target))

    def notes(self, target: Target) -> dict[str, str]:
        return {}

    def function(self, target: Target) -> Callable[..., Any]:
        return functions.function_of(target)

    def flavour(self, target: Target) -> str:
        return ""

    def tensor(self, spec: TensorSpec, device: str, seed: int) -> Any:
        return tensors.tensor(spec, seed)

    def describe(self, value: Any) -> TensorSpec | None:
        return tensors.describe(value)

    def adopt(self, value: Any, spec: TensorSpec, device: str) -> Any:
        return np.array(value)

    def bind(
        self,
        case: Case,
        arguments: Mapping[str, Any],
        function: Callable[..., Any] | None = None,
    ) -> Callable[[], Any]:
        target = case.target
        called = function or functions.seeded(target, case.settings.seed)
        name = target.name if isinstance(target, OperatorTarget) else target.label
        declared = signatures.parameters(name, called)
        return functions.bind(called, declared, arguments)

    def output_shapes(self, case: Case) -> list[tuple[int, ...]] | None:
        return inference.output_shapes(case)

    def with_inferred_shapes(self, case: Case) -> Case:
        raise UnsupportedError("NumPy infers no shapes")

    def source(self, case: Case, arguments: Mapping[str, Any], call: Callable[[], Any]) -> str:
        return source.script(case, arguments, call)

    @contextmanager
    def scope(self, case: Case) -> Iterator[None]:
        """Without a print of each deprecated function's warning; modes have no effect."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield

    def has_nan(self, outputs: Any) -> bool:
        return tensors.has_nan(outputs)

    def bytes_of(self, outputs: Any) -> int:
        return tensors.bytes_of(outputs)

    def gradient(self, case: Case, call: Callable[[], Any], inputs: Sequence[Any]) -> Gradient:
        raise NoGradientError("NumPy computes no gradients")

    def synchronize(self, device: str) -> None:
        """Nothing to wait for: a call returns when it is done."""

    def forks(self, device: str) -> bool:
        return True

    def memory(self, device: str) -> AbstractContextManager[MemoryReading]:
        return memory.measuring()

    def tracer(self, device: str) -> Tracer:
        raise UsageError("NumPy has no profiler of its own; use --profiler python")

    def refusal(self, error: Exception) -> str | None:
        return messages.refusal(error)

    def unavailable(self, refusal: str) -> bool:
        # NumPy has the same functions on every machine.
        return False


def _libraries() -> dict[str, str]:
    """Name and version of the library of linear algebra, if NumPy tells them; that for LAPACK is
    the same one."""
    # NumPy's annotations know of the printing form only.
    show: Any = np.show_config
    try:
        blas = show(mode="dicts")["Build Dependencies"].get("blas", {})
    except TypeError:
        # Before NumPy 1.25 there is no other form.
        return {}
    return {"blas": f"{blas['name']} {blas.get('version', '')}".strip()} if "name" in blas else {}
