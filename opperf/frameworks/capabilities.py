"""What a framework may have beside the required core: each capability is a protocol with a default,
which `defaults.Defaults` implements. One module, as the author of a framework reads all."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from opperf.frameworks.base import Constant, Contents, Extent, Gradient, MemoryReading, Watched
from opperf.frameworks.timing import Event, ProfilerFactory
from opperf.model import (
    Argument,
    Case,
    Note,
    ObjectTarget,
    Operator,
    Settings,
    Target,
    TensorSpec,
)


class Naming(Protocol):
    """Lookup of names and callables. Default: by the list of operators."""

    def registered(self) -> int:
        """Returns the number of all names in the registry, those of internal entries included."""
        ...

    def importing(self) -> AbstractContextManager[None]:
        """Returns a context in which a user's module is imported, so that operators registered
        inside are known to be the user's."""
        ...

    def resolve(self, name: str) -> Operator | None:
        """Returns the operator of a registered name or alias; None if there is none."""
        ...

    def target_of(self, function: Callable[..., Any]) -> Target:
        """Returns the target of a callable that a user passed."""
        ...

    def callable_target(self, path: str) -> Target:
        """Returns the target at a path (`nd.add`, `kernels.py:softmax`). Raises
        `UnknownOperatorError`."""
        ...

    def function_paths(self) -> tuple[str, ...]:
        """Returns the paths of functions that suggestions for unknown names may name."""
        ...

    def signature(self, target: Target, function: Callable[..., Any] | None = None) -> Operator:
        """Returns the parameters of a target: the registered operator that it calls, or else an
        `Operator` made from the callable's signature."""
        ...

    def wrapped_operator(self, target: Target, called: Operator) -> Operator | None:
        """Returns the registered operator that a target is, or that it calls as a function of the
        framework; None for any other function. `called` is the target's signature."""
        ...

    def place(self, target: Target) -> str:
        """Returns the place of the framework's function that a target is, without the framework's
        own name (`numpy.linalg.solve`); empty for any other target."""
        ...

    def notes(self, target: Target) -> tuple[Note, ...]:
        """Returns notes for the reader of a target's results."""
        ...


class Objects(Protocol):
    """Objects that are built before they are called. Default: those of any package, as they are."""

    def constructor(self, target: ObjectTarget) -> Callable[..., Any]:
        """Returns what builds an object. Raises `UnknownOperatorError` for a path that leads
        nowhere, and `UnsupportedError` for a package that is not installed."""
        ...

    def call_parameters(self, built: type) -> dict[str, bool] | None:
        """Returns the names of what an object of a class is called with, each with whether it is
        required; None for a class whose objects are not called."""
        ...

    def is_layer(self, function: Callable[..., Any]) -> bool:
        """Whether a callable is a class of layers, of which an object is called."""
        ...

    def place_weights(self, built: Any, case: Case) -> Any:
        """Returns an object with its weights on the case's device and in its dtype."""
        ...


class RandomNumbers(Protocol):
    """The framework's own random numbers, of which a user's code may draw. Default: none."""

    def seed(self, seed: int) -> None:
        """Seeds them."""
        ...


class Devices(Protocol):
    """Devices and their synchronisation. Default: the CPU, synchronous."""

    def devices(self) -> tuple[str, ...]:
        """Returns the devices of this build and machine, the default one first."""
        ...

    def parse_device(self, text: str) -> str:
        """Returns the canonical name of a device, e.g. `gpu(0)` for `gpu`.

        Raises `UsageError` if it is no device's name and `DeviceError` if this build or machine
        does not have it.
        """
        ...

    def missing_kernel(self, operator: Operator, device: str) -> str:
        """Returns why an operator cannot run on a device, for any inputs; empty if it can, or if
        only a call can show it."""
        ...

    def device_memory(self, device: str) -> int:
        """Returns the number of bytes that can still be allocated on the device."""
        ...

    def synchronize(self, device: str) -> None:
        """Waits until all work is done. Raises what the work raised."""
        ...

    def has_queue(self, device: str) -> bool:
        """Whether a call may return before its work is done, so that there is something to wait
        for. Default: if it has a `synchronize` of its own."""
        ...

    def is_asynchronous(self, device: str) -> bool:
        """Whether calls return before their work is done, and synchronising takes time even if the
        device is idle."""
        ...

    def uuid(self, device: str) -> str:
        """Returns the UUID by which NVIDIA's library knows a GPU, whose index there may be another;
        empty for any other device."""
        ...

    def empty_kernel(self, device: str) -> Callable[[], object] | None:
        """Returns a callable that launches a kernel with next to no work on an asynchronous device;
        None for any other device, or if the framework cannot do it."""
        ...


class Arrays(Protocol):
    """Operations on arrays. Default: one array type, no memory formats, and none for arrays that a
    user passes, which share no memory."""

    memory_formats: tuple[str, ...]
    """Names for `TensorSpec.memory_format` that `tensor` supports, beside the default."""

    def array_type(self, target: Target) -> str:
        """Returns the array type that the target takes, as in `TensorSpec.array_type`."""
        ...

    def constant(self, value: Constant, device: str) -> Any:
        """Returns the framework's object for an argument that is a dtype, device, memory format or
        generator. Raises `UnsupportedError`."""
        ...

    def view(self, storage: Any, spec: TensorSpec) -> Any:
        """Returns a view of a one-dimensional tensor with the spec's shape, strides and offset.
        Raises `UnsupportedError`."""
        ...

    def describe(self, value: Any) -> TensorSpec | None:
        """Returns the spec of a tensor that a user passed, with its dtype and layout as they are;
        None for any other value. Raises `UsageError` for a tensor that no case can have."""
        ...

    def copy_to_device(self, value: Any, spec: TensorSpec, device: str) -> Any:
        """Returns a copy, on the device, of an array that a user passed, as `spec` describes it:
        in another dtype, if `spec.fill.dtype` is the array's own."""
        ...

    def write(self, view: Any, value: Any, spec: TensorSpec) -> Any:
        """Returns a `view` with the contents of an array that a user passed."""
        ...

    def memory_of(self, value: Any) -> int | None:
        """Returns what the arrays that a user passed have in common if they are views of one
        memory; None for an array that shares none."""
        ...

    def requires_gradient(self, value: Any) -> bool:
        """Whether the user has requested a gradient with respect to an array."""
        ...

    def narrowed(self, dtype: str, beside: Collection[str], settings: Settings) -> str:
        """Returns the dtype in which the framework has an array of NumPy, under these settings and
        `beside` arrays of those dtypes."""
        ...

    def contents(self, value: Any) -> Contents | None:
        """Returns what a tensor holds; None for any other value. Default: None, as nothing can be
        read."""
        ...

    def has_nan(self, outputs: Any) -> bool:
        """Whether any tensor of a call's results has a NaN."""
        ...

    def extents(self, values: Any) -> list[Extent]:
        """Returns the places in memory of the tensors in a call's arguments or results, nested
        lists included. Tensors that share memory, as a view and its base, have addresses in
        common."""
        ...


class LargeTensors(Protocol):
    """Tensors of more than 2**31 elements. Default: no limit."""

    def large_tensor_limit(self) -> str:
        """Returns why this build does not support such tensors, and which one does; empty if it
        does."""
        ...


class Gradients(Protocol):
    """Differentiation. Default: none."""

    gradients: bool
    """Whether it computes gradients."""

    def gradient(self, case: Case, call: Callable[[], Any], inputs: Sequence[Any]) -> Gradient:
        """Returns the call as a computation to differentiate, with respect to the tensors `inputs`.

        Raises `NoGradientError` if a trial shows that there is no gradient.
        """
        ...

    def parameter_names(self, target: Target) -> tuple[str, ...]:
        """Returns the names of the parameters of the module that a target is; none for any other
        target. Default: gradients of parameters are not chosen."""
        ...

    def record_forward(self, case: Case, call: Callable[[], Any], inputs: Sequence[Any]) -> None:
        """Has the case's calls, as far as its phase says so, record what gradients with respect to
        the tensors `inputs` need. Default: only `gradient` does."""
        ...


class ShapeInference(Protocol):
    """Inference of shapes without a call. Default: none."""

    def output_shapes(self, case: Case) -> list[tuple[int, ...]] | None:
        """Returns the shapes of the case's outputs; None if only a call can show them."""
        ...

    def with_outputs(
        self, operator: Operator, arguments: Mapping[str, Argument]
    ) -> Mapping[str, Argument]:
        """Returns an operator's arguments with the tensors that it only writes its results to.

        Raises `UnsupportedError` if the framework cannot infer one.
        """
        ...

    def returning(self, operator: Operator) -> Operator | None:
        """Returns the operator that returns what this one writes to tensors of the caller, and
        takes the same arguments otherwise; None if there is none."""
        ...

    def fits_in_place(self, operator: Operator, arguments: Mapping[str, Argument]) -> bool:
        """Whether an operator that writes its result to an argument can write it there, as far as
        that is known without a call. Default: it can."""
        ...

    def foreseen_refusal(self, case: Case) -> str:
        """Returns why a case's call would be refused, found without its data and its kernel; empty
        if it would not, or if only the call can show it."""
        ...

    def with_inferred_shapes(self, case: Case) -> Case:
        """Returns the case with `UNKNOWN` shapes inferred from the others.

        Raises `UnsupportedError` if the framework cannot infer one.
        """
        ...


class Steps(Protocol):
    """Operators that are the steps of others, and have the inputs that these give them. Default:
    none."""

    def callers(self, operator: Operator) -> tuple[Operator, ...] | None:
        """Returns the operators that do what this one does by calling it, the nearest first; None
        for an operator that has inputs of its own."""
        ...

    def steps(
        self, caller: Operator, arguments: Mapping[str, Argument]
    ) -> Iterable[Mapping[str, Mapping[str, Argument]]]:
        """Returns, for each pass of a call, the operators that it consists of, by name, each with
        the arguments of its largest call."""
        ...


class Profilers(Protocol):
    """The framework's own profilers. Default: none; every framework has `python`."""

    def profilers(self) -> Mapping[str, ProfilerFactory]:
        """Returns a factory of each of its profilers, by name, the preferred one first."""
        ...


class Traces(Protocol):
    """Traces of work, as tools show them. Default: none."""

    def tracing(
        self, chrome: Path | None, execution: Path | None
    ) -> AbstractContextManager[Callable[[str], AbstractContextManager[object]]]:
        """Returns a context whose work is traced to files: a Chrome trace of the profiler, and an
        execution trace of the operators; None for one that is not wanted. It yields a function of
        contexts that label a part of the work. Raises `UnsupportedError`."""
        ...


class Events(Protocol):
    """Events in a device's queue, which the profiler `events` uses. Default: none."""

    def has_events(self, device: str) -> bool:
        """Whether the device has events."""
        ...

    def event(self, device: str) -> Event:
        """Returns a new event for the queue of the device's calls. Raises `UnsupportedError`."""
        ...


class Caches(Protocol):
    """Flush of a device's caches. Default: opperf overwrites a CPU's caches, and rotates calls on
    other devices through copies of their inputs."""

    def cache_flush(self, device: str) -> Callable[[], object] | None:
        """Returns a callable that flushes the device's caches; None for opperf's default."""
        ...


class Memory(Protocol):
    """Measurement of the memory that calls allocate. Default: none."""

    def memory(self, device: str) -> AbstractContextManager[MemoryReading]:
        """Returns a context that measures the memory allocated on the device. Contexts may be
        nested. Raises `UnsupportedError`."""
        ...

    def keeps_workspace(self, device: str) -> bool:
        """Whether it keeps workspace of one operator for later ones, so that only a process that
        has run nothing can measure all that a call needs. Default: it does."""
        ...


class Modes(Protocol):
    """Execution modes and mixed precision. Default: eager, without mixed precision."""

    modes: tuple[str, ...]
    """Its execution modes, the default one first."""
    autocast_dtypes: tuple[str, ...]
    """Dtypes of its automatic mixed precision."""

    def scope(self, case: Case) -> AbstractContextManager[None]:
        """Returns a context that sets the phase, array semantics, mixed precision and device of the
        case's calls."""
        ...


class Compilers(Protocol):
    """Modes that compile a case at its first call. Default: none."""

    compiled_modes: tuple[str, ...]
    """Those of its `modes` that compile."""

    def compilation(self, call: Callable[[], Any]) -> Mapping[str, float]:
        """Returns what compiling a case took and met since its `scope` began, by the metric's name,
        in its unit: `lowering`, `graph_breaks`. `call` is the result of `bind`, in one of the
        `compiled_modes`."""
        ...

    def is_constant(self, target: Target, call: Callable[[], Any]) -> bool:
        """Whether the compiler computed the results of such a call of a user's code, as they depend
        on no input, so that a call only returns them."""
        ...


class Options(Protocol):
    """Options of the framework that hold for a process. Default: none."""

    def option(self, name: str, text: str) -> Callable[[], object]:
        """Returns a callable that sets an option to the value that the text is. Raises `UsageError`
        for an unknown option, with near names, and for a value that it does not take."""
        ...


class Threads(Protocol):
    """Compute threads. Default: those of OpenMP or BLAS, whose number opperf sets by environment
    variables before the framework is imported.

    `has_own_threads` is whether kernels run on threads of the framework, and not on that which
    calls them, even with one compute thread. Default: they do not.
    """

    has_own_threads: bool

    def set_threads(self, count: int) -> None:
        """Sets the number of compute threads; called before any computation."""
        ...

    def threads(self) -> int | None:
        """Returns the number of compute threads; None if the framework does not report it."""
        ...


class Forks(Protocol):
    """Forks of a process that has imported the framework. Default: not supported."""

    def supports_fork(self, device: str) -> bool:
        """Whether a fork of a process that has imported the framework can use the device."""
        ...

    def prepare_forks(self) -> None:
        """Imports what the framework would import in each fork, at its first use. Default: there is
        no such thing."""
        ...


class Repetition(Protocol):
    """Calls that are made again and again. Default: as they are bound."""

    def repeated(self, call: Callable[[], Any]) -> Callable[[], Any]:
        """Returns what a timer calls: the result of `bind`, which was called before, without the
        steps that only other measurements need."""
        ...


class Restoring(Protocol):
    """Arguments that a call writes to. Default: none is restored."""

    def restore(
        self, case: Case, arguments: Mapping[str, Any], call: Callable[[], Any]
    ) -> Callable[[], object] | None:
        """Returns a function that gives the arguments which a call writes to their contents of now,
        to be called between two calls; None if it writes to none, or if only a call can show it.
        `arguments` are the values made for the case, and `call` is the result of `bind`."""
        ...

    def watch(self, target: Target, value: Any, call: Callable[[], Any]) -> Watched | None:
        """Returns an argument of a target's call, to see later whether the call wrote to it; None
        for a value that is no tensor, or that no call can write to. `call` is the result of
        `bind`."""
        ...


class Processes(Protocol):
    """Description of the build and its processes. Default: the version only."""

    variables: tuple[str, ...]
    """The framework's environment variables that decide how it computes."""

    def versions(self) -> dict[str, str]:
        """Returns the versions of the framework and of the libraries that its results depend on."""
        ...

    def features(self) -> dict[str, bool]:
        """Returns whether each build feature is enabled, by name."""
        ...

    def commit(self) -> str:
        """Returns the commit that the framework was built from; empty if unknown."""
        ...

    def absent_names(self) -> tuple[str, ...]:
        """Returns the names without a public interface that this version lacks, each with what
        needs it."""
        ...

    def unavailable(self, refusal: str) -> bool:
        """Whether a refusal means that this build or device lacks the kernel, for any inputs."""
        ...


class Scripts(Protocol):
    """Cases as scripts. Default: none."""

    def source(self, case: Case, arguments: Mapping[str, Any], call: Callable[[], Any]) -> str:
        """Returns a script that makes the case's tensors and its call, without opperf.

        `arguments` are the tensors and values of the case, `call` is the result of `bind`.
        Raises `UnsupportedError`.
        """
        ...
