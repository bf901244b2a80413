"""Defaults for the capabilities that a framework may lack."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import psutil

from opperf.errors import (
    DeviceError,
    NoGradientError,
    UnknownOperatorError,
    UnsupportedError,
    UsageError,
    suggest,
)
from opperf.frameworks import user_code
from opperf.frameworks.base import Constant, Contents, Core, Extent, Watched
from opperf.frameworks.timing import ProfilerFactory
from opperf.model import (
    Argument,
    CallableTarget,
    Case,
    Kind,
    Note,
    ObjectTarget,
    Operator,
    OperatorTarget,
    Parameter,
    Settings,
    Target,
    TensorSpec,
)

CPU = "cpu(0)"

DEVICE = re.compile(r"(?P<kind>[a-z]+)(?:\((?P<index>\d+)\))?")


class Defaults(Core):
    """Base of frameworks, which add a capability by overriding its methods."""

    memory_formats: tuple[str, ...] = ()
    modes: tuple[str, ...] = ("eager",)
    autocast_dtypes: tuple[str, ...] = ()
    compiled_modes: tuple[str, ...] = ()
    has_own_threads: bool = False
    variables: tuple[str, ...] = ()
    gradients: bool = False

    def registered(self) -> int:
        return sum(len(operator.names) for operator in self.operators())

    def importing(self) -> AbstractContextManager[None]:
        return nullcontext()

    def resolve(self, name: str) -> Operator | None:
        return next((one for one in self.operators() if name in one.names), None)

    def target_of(self, function: Callable[..., Any]) -> Target:
        module = getattr(function, "__module__", None) or ""
        name = getattr(function, "__qualname__", type(function).__qualname__)
        return CallableTarget(framework=self.name, path=f"{module}.{name}".strip("."))

    def callable_target(self, path: str) -> Target:
        target = user_code.target_at(self.name, path)
        if target is None:
            names = [name for operator in self.operators() for name in operator.names]
            raise UnknownOperatorError(
                f"{self.name} has no operator {path!r}{suggest(path, names)}"
            )
        self.function(target)
        return target

    def function_paths(self) -> tuple[str, ...]:
        return ()

    def signature(self, target: Target, function: Callable[..., Any] | None = None) -> Operator:
        if isinstance(target, OperatorTarget):
            operator = self.resolve(target.name)
            if operator is not None:
                return operator
        try:
            declared = [*inspect.signature(function or self.function(target)).parameters.values()]
        except (TypeError, ValueError):
            # A function written in C may have no signature.
            declared = []
        parameters = tuple(
            Parameter(name=one.name, kind=Kind.OTHER, required=one.default is one.empty)
            for one in declared
            if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
        )
        return Operator(framework=self.name, namespace="", name=target.label, parameters=parameters)

    def wrapped_operator(self, target: Target, called: Operator) -> Operator | None:
        return called if self.resolve(called.name) == called else None

    def place(self, target: Target) -> str:
        return ""

    def notes(self, target: Target) -> tuple[Note, ...]:
        return ()

    def constructor(self, target: ObjectTarget) -> Callable[..., Any]:
        def called(path: str) -> Callable[..., Any]:
            return self.function(CallableTarget(self.name, path))

        return user_code.constructor_of(target, called, (self.name,))

    def call_parameters(self, built: type) -> dict[str, bool] | None:
        return user_code.call_parameters(built)

    def is_layer(self, function: Callable[..., Any]) -> bool:
        return False

    def place_weights(self, built: Any, case: Case) -> Any:
        return built

    def seed(self, seed: int) -> None:
        """Does nothing: without random numbers of its own, those of NumPy are drawn."""

    def devices(self) -> tuple[str, ...]:
        return (CPU,)

    def parse_device(self, text: str) -> str:
        match = DEVICE.fullmatch(text.strip().lower())
        if match is None or match["kind"] not in ("cpu", "gpu"):
            raise UsageError(f"unknown device {text!r}; use cpu or {CPU}")
        device = f"{match['kind']}({int(match['index'] or 0)})"
        if device != CPU:
            raise DeviceError(
                f"{text}: {self.name} computes on the CPU only; use --ctx cpu", device
            )
        return CPU

    def missing_kernel(self, operator: Operator, device: str) -> str:
        return ""

    def device_memory(self, device: str) -> int:
        return int(psutil.virtual_memory().available)

    def synchronize(self, device: str) -> None:
        """Does nothing: a call returns when it is done."""

    def has_queue(self, device: str) -> bool:
        return type(self).synchronize is not Defaults.synchronize

    def is_asynchronous(self, device: str) -> bool:
        return False

    def uuid(self, device: str) -> str:
        return ""

    def empty_kernel(self, device: str) -> Callable[[], object] | None:
        return None

    def array_type(self, target: Target) -> str:
        return ""

    def constant(self, value: Constant, device: str) -> Any:
        raise UnsupportedError(f"{self.name} does not take a {type(value).__name__} as an argument")

    def view(self, storage: Any, spec: TensorSpec) -> Any:
        raise UnsupportedError(f"{self.name} does not support strides or shared storage")

    def describe(self, value: Any) -> TensorSpec | None:
        return None

    def copy_to_device(self, value: Any, spec: TensorSpec, device: str) -> Any:
        raise UnsupportedError(f"{self.name} takes shapes only, not arrays")

    def contents(self, value: Any) -> Contents | None:
        return None

    def write(self, view: Any, value: Any, spec: TensorSpec) -> Any:
        raise UnsupportedError(f"{self.name} does not support strides or shared storage")

    def memory_of(self, value: Any) -> int | None:
        return None

    def requires_gradient(self, value: Any) -> bool:
        return False

    def narrowed(self, dtype: str, beside: Collection[str], settings: Settings) -> str:
        return dtype

    def has_nan(self, outputs: Any) -> bool:
        return False

    def extents(self, values: Any) -> list[Extent]:
        return []

    def large_tensor_limit(self) -> str:
        return ""

    def gradient(self, case: Case, call: Callable[[], Any], inputs: Sequence[Any]) -> Any:
        raise NoGradientError(f"{self.name} does not compute gradients")

    def parameter_names(self, target: Target) -> tuple[str, ...]:
        return ()

    def record_forward(self, case: Case, call: Callable[[], Any], inputs: Sequence[Any]) -> None:
        """Does nothing: the forward pass of a gradient is another computation."""

    def build(self, cases: Sequence[Case]) -> None:
        """Does nothing: no case needs it."""

    def output_shapes(self, case: Case) -> list[tuple[int, ...]] | None:
        return None

    def with_outputs(
        self, operator: Operator, arguments: Mapping[str, Argument]
    ) -> Mapping[str, Argument]:
        return arguments

    def returning(self, operator: Operator) -> Operator | None:
        return None

    def fits_in_place(self, operator: Operator, arguments: Mapping[str, Argument]) -> bool:
        return True

    def foreseen_refusal(self, case: Case) -> str:
        return ""

    def with_inferred_shapes(self, case: Case) -> Case:
        raise UnsupportedError(f"{self.name} does not infer shapes")

    def callers(self, operator: Operator) -> tuple[Operator, ...] | None:
        return None

    def steps(
        self, caller: Operator, arguments: Mapping[str, Argument]
    ) -> Iterable[Mapping[str, Mapping[str, Argument]]]:
        return ()

    def profilers(self) -> Mapping[str, ProfilerFactory]:
        return {}

    def tracing(self, chrome: Path | None, execution: Path | None) -> AbstractContextManager[Any]:
        raise UnsupportedError(f"{self.name} writes no traces")

    def has_events(self, device: str) -> bool:
        return False

    def event(self, device: str) -> Any:
        raise UnsupportedError(f"{self.name} has no events on {device}; use --profiler python")

    def cache_flush(self, device: str) -> Callable[[], object] | None:
        return None

    def memory(self, device: str) -> AbstractContextManager[Any]:
        raise UnsupportedError(f"{self.name} does not report the memory that it allocates")

    def keeps_workspace(self, device: str) -> bool:
        return True

    def scope(self, case: Case) -> AbstractContextManager[None]:
        return nullcontext()

    def compilation(self, call: Callable[[], Any]) -> Mapping[str, float]:
        return {}

    def is_constant(self, target: Target, call: Callable[[], Any]) -> bool:
        return False

    def option(self, name: str, text: str) -> Callable[[], object]:
        raise UsageError(f"{self.name} has no options for --set, such as {name!r}; omit it")

    def versions(self) -> dict[str, str]:
        return {self.name: self.version()}

    def features(self) -> dict[str, bool]:
        return {}

    def commit(self) -> str:
        return ""

    def absent_names(self) -> tuple[str, ...]:
        return ()

    def set_threads(self, count: int) -> None:
        """Does nothing: environment variables of OpenMP and BLAS have set the number."""

    def threads(self) -> int | None:
        return None

    def supports_fork(self, device: str) -> bool:
        return False

    def prepare_forks(self) -> None:
        """Does nothing: all is imported with the framework."""

    def repeated(self, call: Callable[[], Any]) -> Callable[[], Any]:
        return call

    def restore(
        self, case: Case, arguments: Mapping[str, Any], call: Callable[[], Any]
    ) -> Callable[[], object] | None:
        return None

    def watch(self, target: Target, value: Any, call: Callable[[], Any]) -> Watched | None:
        return None

    def unavailable(self, refusal: str) -> bool:
        return False

    def source(self, case: Case, arguments: Mapping[str, Any], call: Callable[[], Any]) -> str:
        raise UnsupportedError(f"{self.name} does not write scripts")
