"""NumPy as opperf's `Framework`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np

from opperf.frameworks.base import Constant, Contents, Extent, MemoryReading, Watched
from opperf.frameworks.capabilities import Framework
from opperf.frameworks.contents import array_contents
from opperf.frameworks.numpy import (
    PACKAGE,
    functions,
    inference,
    memory,
    messages,
    private,
    registry,
    restoring,
    signatures,
    source,
    tensors,
)
from opperf.frameworks.private import absent_names
from opperf.model import (
    CallableTarget,
    Case,
    DType,
    Generator,
    Operator,
    OperatorTarget,
    Target,
    TensorSpec,
)


class NumPy(Framework):
    """The framework, for one process."""

    name = registry.FRAMEWORK
    rules = "opperf.rules.numpy"
    dtypes: tuple[str, ...] = registry.DTYPES
    variables: tuple[str, ...] = PACKAGE.variables

    def __init__(self) -> None:
        # Read now: each fork of this process would otherwise read it again.
        registry.by_identity()

    def version(self) -> str:
        return np.__version__

    def versions(self) -> dict[str, str]:
        """Versions of NumPy and of the library it was built with."""
        return {"numpy": self.version(), **_libraries()}

    def features(self) -> dict[str, bool]:
        """The processor's instruction sets that NumPy has kernels for, and whether it uses
        them here."""
        return dict(private.CPU_FEATURES.find() or {})

    def commit(self) -> str:
        return str(np.version.git_revision)

    def absent_names(self) -> tuple[str, ...]:
        return absent_names(private)

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

    def place(self, target: Target) -> str:
        if not isinstance(target, CallableTarget):
            return ""
        root, _, place = target.path.partition(".")
        return place if root in functions.ROOTS else ""

    def function(self, target: Target) -> Callable[..., Any]:
        return functions.function_of(target)

    def tensor(self, spec: TensorSpec, device: str, seed: int) -> Any:
        return tensors.tensor(spec, seed)

    def constant(self, value: Constant, device: str) -> Any:
        if isinstance(value, DType):
            return np.dtype(value.name)
        if isinstance(value, Generator):
            return np.random.default_rng(value.seed)
        return super().constant(value, device)

    def view(self, storage: Any, spec: TensorSpec) -> Any:
        return tensors.view(storage, spec)

    def describe(self, value: Any) -> TensorSpec | None:
        return tensors.describe(value)

    def copy_to_device(self, value: Any, spec: TensorSpec, device: str) -> Any:
        return tensors.copy_of(value, spec)

    def write(self, view: Any, value: Any, spec: TensorSpec) -> Any:
        return tensors.write(view, value, spec)

    def memory_of(self, value: Any) -> int | None:
        return tensors.memory_of(value)

    def bind(
        self,
        case: Case,
        arguments: Mapping[str, Any],
        function: Callable[..., Any] | None = None,
    ) -> Callable[[], Any]:
        target = case.target
        called = function or functions.with_seed(target, case.settings.seed)
        name = target.name if isinstance(target, OperatorTarget) else target.label
        declared = signatures.parameters(name, called)
        return functions.bind(called, declared, arguments)

    def watch(self, target: Target, value: Any, call: Callable[[], Any]) -> Watched | None:
        return restoring.watch(target, value)

    def output_shapes(self, case: Case) -> list[tuple[int, ...]] | None:
        return inference.output_shapes(case)

    def source(self, case: Case, arguments: Mapping[str, Any], call: Callable[[], Any]) -> str:
        return source.script(case, arguments, call)

    @contextmanager
    def scope(self, case: Case) -> Iterator[None]:
        """Suppresses warnings, as of deprecated functions. The phase has no effect."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield

    def has_nan(self, outputs: Any) -> bool:
        return tensors.has_nan(outputs)

    def contents(self, value: Any) -> Contents | None:
        return array_contents(value)

    def extents(self, values: Any) -> list[Extent]:
        return [tensors.extent(one) for one in tensors.arrays(values)]

    def supports_fork(self, device: str) -> bool:
        return True

    def memory(self, device: str) -> AbstractContextManager[MemoryReading]:
        return memory.measure()

    def refusal(self, error: Exception) -> str | None:
        return messages.refusal(error)


def _libraries() -> dict[str, str]:
    """Name and version of the BLAS library, if NumPy reports them; LAPACK's is the same one."""
    # NumPy's annotations have the printing form only.
    show: Any = np.show_config
    try:
        blas = show(mode="dicts")["Build Dependencies"].get("blas", {})
    except TypeError:
        # Before NumPy 1.25 there is no other form.
        return {}
    return {"blas": f"{blas['name']} {blas.get('version', '')}".strip()} if "name" in blas else {}
