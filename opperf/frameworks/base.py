"""What a framework has to have, what it may have beside, and the forms that measurements take.

One module or package per framework implements `Framework`. It inherits `Defaults`, overrides what
it has, and leaves the rest: each capability is a protocol of its own with a default there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

from opperf.frameworks.timing import Event, MakeProfiler
from opperf.model import (
    Case,
    Device,
    DType,
    Generator,
    MemoryFormat,
    Note,
    Operator,
    Target,
    TensorSpec,
)

Constant = DType | Device | MemoryFormat | Generator
"""Plain values that a framework has objects of its own for."""


class Gradient(Protocol):
    """One recorded forward computation and its backward pass.

    `record` runs the forward call so that it can be differentiated; `backward` then computes
    the gradients of that call. Each `backward` needs a `record` before it. Neither waits
    for the device.
    """

    def record(self) -> None: ...

    def backward(self) -> None: ...


class MemoryReading(Protocol):
    """What a memory meter saw; valid once its context has ended, and those around it."""

    @property
    def peak_bytes(self) -> int:
        """Largest number of bytes allocated above the level at entry."""
        ...

    @property
    def kept_bytes(self) -> int:
        """Bytes allocated at the end above the level at entry."""
        ...


class Extent(NamedTuple):
    """Where a tensor is in memory."""

    bytes: int
    """Size of the stored data: of a sparse tensor, its values and their indices."""
    begin: int = 0
    end: int = 0
    """First address, and the one behind the last; alike where it shares memory with nothing."""

    def shares_memory_with(self, other: Extent) -> bool:
        """Whether some address is in both."""
        return self.begin < other.end and other.begin < self.end


class Core(Protocol):
    """What every framework has."""

    name: str
    rules: str
    """Module that holds the framework's tables and families of inputs."""
    dtypes: tuple[str, ...]
    """The dtypes a user may ask for."""

    def version(self) -> str: ...

    def operators(self) -> tuple[Operator, ...]:
        """Every distinct operator of the registry, sorted by name."""
        ...

    def function(self, target: Target) -> Callable[..., Any]:
        """The callable behind a target. Raises `UnknownOperatorError`."""
        ...

    def tensor(self, spec: TensorSpec, device: str, seed: int) -> Any:
        """A tensor as specified, filled from the seed. Raises `UnsupportedError`."""
        ...

    def bind(
        self,
        case: Case,
        arguments: Mapping[str, Any],
        function: Callable[..., Any] | None = None,
    ) -> Callable[[], Any]:
        """A call without arguments that runs the case's target once on these values.

        `function` stands in for the target's, when a caller holds the callable itself.
        """
        ...

    def refusal(self, error: Exception) -> str | None:
        """The framework's own message, shortened, if the error is the framework refusing
        a call; None if it is a fault of anything else."""
        ...


class Naming(Protocol):
    """Names and callables beyond the list of operators. Default: what that list has."""

    def registered(self) -> int:
        """Number of names in the registry, whatever they are for."""
        ...

    def resolve(self, name: str) -> Operator | None:
        """The operator of a registered name or alias; None if there is none."""
        ...

    def target_of(self, function: Callable[..., Any]) -> Target:
        """The target of a callable a user holds."""
        ...

    def callable_target(self, path: str) -> Target:
        """The target at a path (`nd.add`, `kernels.py:softmax`). Raises `UnknownOperatorError`."""
        ...

    def signature(self, target: Target, function: Callable[..., Any] | None = None) -> Operator:
        """What a target takes: the registered operator it calls, or else an operator made
        up from the callable's own signature."""
        ...

    def wrapped_operator(self, target: Target, called: Operator) -> Operator | None:
        """The registered operator that a target calls, itself or through a function of the
        framework's; None for any other function. `called` is the target's signature."""
        ...

    def notes(self, target: Target) -> tuple[Note, ...]:
        """Notes for the reader of a target's figures."""
        ...


class Devices(Protocol):
    """Where calls run, and when they are over. Default: the CPU, synchronously."""

    def devices(self) -> tuple[str, ...]:
        """Devices this build and machine have, the default one first."""
        ...

    def parse_device(self, text: str) -> str:
        """Canonical name of a device, e.g. `gpu` is `gpu(0)`.

        Raises `UsageError` when it is no device's name and `DeviceError` when this build or
        machine does not have it.
        """
        ...

    def device_memory(self, device: str) -> int:
        """Bytes that can still be allocated on the device."""
        ...

    def synchronize(self, device: str) -> None:
        """Wait until all work is done. Raises what the work raised."""
        ...

    def is_asynchronous(self, device: str) -> bool:
        """Whether calls return while their work waits in the device's queue, and a wait for the
        device takes time even where it is idle."""
        ...


class Arrays(Protocol):
    """Arrays beyond making them. Default: one array type, and nothing known of a caller's."""

    def array_type(self, target: Target) -> str:
        """The array type that the target takes, as in `TensorSpec.array_type`."""
        ...

    def constant(self, value: Constant, device: str) -> Any:
        """The framework's object for a dtype, device, memory format or generator that is an
        argument. Raises `UnsupportedError`."""
        ...

    def view(self, storage: Any, spec: TensorSpec) -> Any:
        """A tensor in the elements of another, one-dimensional one, by the spec's shape, strides
        and offset. Raises `UnsupportedError`."""
        ...

    def describe(self, value: Any) -> TensorSpec | None:
        """The spec of a tensor of this framework that a caller holds; None for anything else."""
        ...

    def copy_to_device(self, value: Any, spec: TensorSpec, device: str) -> Any:
        """A copy, on the device, of an array a caller holds, as `spec` describes it."""
        ...

    def has_nan(self, outputs: Any) -> bool:
        """Whether any tensor among a call's results has a NaN."""
        ...

    def extents(self, values: Any) -> list[Extent]:
        """Where the tensors among a call's arguments or results are, lists of them opened. Those
        that share memory, as a view does with what it is a view of, have addresses in common."""
        ...


class LargeTensors(Protocol):
    """Tensors of more than 2**31 elements. Default: no limit."""

    def large_tensor_limit(self) -> str:
        """Why this build does not index tensors of more than 2**31 elements, and which one does;
        empty if it does."""
        ...


class Gradients(Protocol):
    """Differentiation. Default: none."""

    gradients: bool
    """Whether it computes gradients at all."""

    def gradient(self, case: Case, call: Callable[[], Any], inputs: Sequence[Any]) -> Gradient:
        """The differentiated call. `inputs` are the tensors that want a gradient.

        Raises `NoGradientError` when trying it shows that there is none.
        """
        ...


class ShapeInference(Protocol):
    """Shapes without a call. Default: none."""

    def output_shapes(self, case: Case) -> list[tuple[int, ...]] | None:
        """Shapes of the case's outputs; None where they cannot be inferred without a call."""
        ...

    def with_inferred_shapes(self, case: Case) -> Case:
        """The case with the shapes that follow from others in place of `UNKNOWN` ones.

        Raises `UnsupportedError` where the framework cannot infer one.
        """
        ...


class Profilers(Protocol):
    """Profilers of its own. Default: none, beside those that every framework has."""

    def profilers(self) -> Mapping[str, MakeProfiler]:
        """What makes each of its own profilers, by the name a user gives, the preferred first."""
        ...


class Events(Protocol):
    """Events in a device's queue, by which the profiler `events` times. Default: none."""

    def has_events(self, device: str) -> bool:
        """Whether the device has events."""
        ...

    def event(self, device: str) -> Event:
        """A new event for the queue that the device's calls go to. Raises `UnsupportedError`."""
        ...


class Caches(Protocol):
    """Data that a device keeps in its caches. Default: opperf writes over a CPU's, and calls on
    other devices take turns with copies of their inputs."""

    def cache_flush(self, device: str) -> Callable[[], object] | None:
        """A call that drives everything out of the device's caches; None to leave it to opperf."""
        ...


class Memory(Protocol):
    """Memory that calls allocate. Default: not measured."""

    def memory(self, device: str) -> AbstractContextManager[MemoryReading]:
        """Measures what is allocated on the device inside the context. Contexts may be nested.
        Raises `UnsupportedError`."""
        ...


class Modes(Protocol):
    """How calls are executed. Default: eagerly."""

    modes: tuple[str, ...]
    """Its execution modes, the usual one first."""

    def scope(self, case: Case) -> AbstractContextManager[None]:
        """The phase, array semantics and device the case's calls run in."""
        ...


class Threads(Protocol):
    """The pool of compute threads. Default: that of OpenMP or of a BLAS, whose size opperf sets by
    variables before the framework is imported."""

    def set_threads(self, count: int) -> None:
        """Compute with `count` threads from now on; called before anything has run."""
        ...

    def threads(self) -> int | None:
        """Compute threads in use; None where the framework does not say."""
        ...


class Forks(Protocol):
    """Forks of a process that has imported the framework. Default: not supported."""

    def supports_fork(self, device: str) -> bool:
        """Whether a fork of a process that has imported the framework can use the device."""
        ...


class Processes(Protocol):
    """What a process of it is like. Default: nothing of its own."""

    variables: tuple[str, ...]
    """Environment variables of its own that decide how it computes."""

    def versions(self) -> dict[str, str]:
        """Versions of the framework and of the libraries its numbers depend on."""
        ...

    def features(self) -> dict[str, bool]:
        """Build features by name."""
        ...

    def commit(self) -> str:
        """The commit of the source that the framework was built from; empty where it is not
        known."""
        ...

    def unavailable(self, refusal: str) -> bool:
        """Whether a refusal says that this build or device has no such kernel, whatever the
        inputs."""
        ...


class Scripts(Protocol):
    """Cases as scripts. Default: none."""

    def source(self, case: Case, arguments: Mapping[str, Any], call: Callable[[], Any]) -> str:
        """A script in the framework's own terms that makes the case's tensors and its call.

        `arguments` are the tensors and values made for the case, `call` what `bind` gave.
        Raises `UnsupportedError`.
        """
        ...


class Framework(
    Core,
    Naming,
    Devices,
    Arrays,
    LargeTensors,
    Gradients,
    ShapeInference,
    Profilers,
    Events,
    Caches,
    Memory,
    Modes,
    Threads,
    Forks,
    Processes,
    Scripts,
    Protocol,
):
    """A framework whose operators can be measured."""
