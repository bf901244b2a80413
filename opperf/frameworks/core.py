"""The required core of every framework, and what its capabilities inherit."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

from opperf.errors import DeviceError, UsageError
from opperf.frameworks import paths
from opperf.frameworks.base import CPU, CallArguments
from opperf.model import Case, Kind, Operator, OperatorTarget, Parameter, Target, TensorSpec

DEVICE = re.compile(r"(?P<kind>[a-z]+)(?:\((?P<index>\d+)\))?")


class Core(Protocol):
    """Required of every framework. From `devices` on there are defaults: those of a framework that
    computes on the CPU, at once."""

    name: str
    rules: str
    """Module that holds the framework's tables and families of inputs."""
    dtypes: tuple[str, ...]

    def version(self) -> str: ...

    def operators(self) -> tuple[Operator, ...]:
        """Returns every distinct operator of the registry, sorted by name."""

    def function(self, target: Target) -> Callable[..., Any]:
        """Returns the callable of a target. Raises `UnknownOperatorError`."""

    def tensor(self, spec: TensorSpec, device: str, seed: int) -> Any:
        """Returns a tensor as specified, filled from the seed. Raises `UnsupportedError`."""

    def bind(
        self, case: Case, arguments: CallArguments, function: Callable[..., Any] | None = None
    ) -> Callable[[], Any]:
        """Returns a callable that calls the case's target, or `function`, with these values."""

    def refusal(self, error: Exception) -> str | None:
        """Returns the framework's message if the error means that it refused a call; else None."""

    def devices(self) -> tuple[str, ...]:
        """Returns the devices of this build and machine, the default one first."""
        return (CPU,)

    def parse_device(self, text: str) -> str:
        """Returns the canonical name of a device, `gpu(0)` for `gpu`. Raises `UsageError` if it is
        no device's name, and `DeviceError` if this build or machine does not have it."""
        match = DEVICE.fullmatch(text.strip().lower())
        if match is None or match["kind"] not in ("cpu", "gpu"):
            raise UsageError(f"unknown device {text!r}; use cpu or {CPU}")
        device = f"{match['kind']}({int(match['index'] or 0)})"
        if device != CPU:
            raise DeviceError(
                f"{text}: {self.name} computes on the CPU only; use --ctx cpu", device
            )
        return CPU

    def synchronize(self, device: str) -> None:
        """Waits until all work is done. Raises what the work raised."""
        return
        # A call returns when it is done.

    def resolve(self, name: str) -> Operator | None:
        """Returns the operator of a registered name or alias; None if there is none."""
        return next((operator for operator in self.operators() if name in operator.names), None)

    def signature(self, target: Target, function: Callable[..., Any] | None = None) -> Operator:
        """Returns the registered operator that a target calls, or one of the signature."""
        if isinstance(target, OperatorTarget):
            operator = self.resolve(target.name)
            if operator is not None:
                return operator
        declared = paths.signature_of(function or self.function(target))
        parameters = tuple(
            Parameter(name, Kind.OTHER, required=parameter.default is parameter.empty)
            for name, parameter in declared.items()
            if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        )
        return Operator(framework=self.name, namespace="", name=target.label, parameters=parameters)

    def scope(self, case: Case) -> AbstractContextManager[None]:
        """Returns a context of the phase, array semantics, mixed precision and device of a case."""
        return nullcontext()


class Capability:
    """Something that a framework may have. A method that a subclass does not override has the
    default, which is that of a framework without it."""

    def __init__(self, framework: Core) -> None:
        self.framework = framework
