"""The capabilities of a framework, each with its default, beside the required core. One module, as
the author of a framework reads all. What the defaults need is imported by them, as commands that
measure nothing read this module too."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

from opperf.errors import (
    DeviceError,
    NoGradientError,
    UnknownOperatorError,
    UnsupportedError,
    UsageError,
    suggest,
)
from opperf.frameworks.base import (
    CPU,
    Constant,
    Contents,
    Core,
    Extent,
    Flops,
    Gradient,
    Kept,
    MemoryReading,
    Watched,
)
from opperf.frameworks.calls import Calls, EndStep, Recorder
from opperf.frameworks.installed import absent_names
from opperf.frameworks.models import Model, RunnableModel
from opperf.frameworks.nvtx_ranges import Ranges, package_ranges
from opperf.frameworks.process_parts import ProcessPart
from opperf.frameworks.replays import CallSequence, Group, Replayed
from opperf.frameworks.timing import Event, ProfilerFactory
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
    SnippetTarget,
    Target,
    TensorSpec,
)

DEVICE = re.compile(r"(?P<kind>[a-z]+)(?:\((?P<index>\d+)\))?")


class Naming(Core):
    """Lookup of names and callables. Default: by the list of operators."""

    roots: Mapping[str, object] = MappingProxyType({})
    """Modules of the framework by the first word of a dotted path."""

    def registered(self) -> int:
        """Returns the number of all names in the registry, those of internal entries included."""
        return sum(len(operator.names) for operator in self.operators())

    def importing(self) -> AbstractContextManager[None]:
        """Returns a context in which a user's module is imported, with the user's operators."""
        return nullcontext()

    def resolve(self, name: str) -> Operator | None:
        """Returns the operator of a registered name or alias; None if there is none."""
        return next((operator for operator in self.operators() if name in operator.names), None)

    def target_of(self, function: Callable[..., Any]) -> Target:
        """Returns the target of a callable that a user passed."""
        from opperf.frameworks import paths

        return CallableTarget(framework=self.name, path=paths.path_of(function))

    def callable_target(self, path: str) -> Target:
        """Returns the target at a path, `nd.add`. Raises `UnknownOperatorError`."""
        from opperf.frameworks import user_code

        target = user_code.target_at(self.name, path)
        if target is None:
            names = [name for operator in self.operators() for name in operator.names]
            raise UnknownOperatorError(
                f"{self.name} has no operator {path!r}{suggest(path, names)}"
            )
        self.function(target)
        return target

    def function_paths(self) -> tuple[str, ...]:
        """Returns the paths of functions that suggestions for unknown names may name."""
        return ()

    def signature(self, target: Target, function: Callable[..., Any] | None = None) -> Operator:
        """Returns the registered operator that a target calls, or one of the signature."""
        if isinstance(target, OperatorTarget):
            operator = self.resolve(target.name)
            if operator is not None:
                return operator
        try:
            declared = dict(inspect.signature(function or self.function(target)).parameters)
        except (TypeError, ValueError):
            # A function written in C may have no signature.
            declared = {}
        parameters = tuple(
            Parameter(name, Kind.OTHER, required=parameter.default is parameter.empty)
            for name, parameter in declared.items()
            if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        )
        return Operator(framework=self.name, namespace="", name=target.label, parameters=parameters)

    def wrapped_operator(self, target: Target, called: Operator) -> Operator | None:
        """Returns the registered operator that a target is or calls, if `called` is one."""
        return called if self.resolve(called.name) == called else None

    def place(self, target: Target) -> str:
        """Returns the place of the framework's function that a target is; empty for any other."""
        if not isinstance(target, CallableTarget):
            return ""
        root, _, place = target.path.partition(".")
        return place if root in self.roots else ""

    def is_own(self, target: Target) -> bool:
        """Whether a target is an operator or a function of the framework's own."""
        return isinstance(target, OperatorTarget) or bool(self.place(target))

    def notes(self, target: Target) -> tuple[Note, ...]:
        """Returns notes for the reader of a target's results."""
        return ()


class Objects(Core):
    """Objects that are built before they are called. Default: those of any package, as they are."""

    def constructor(self, target: ObjectTarget) -> Callable[..., Any]:
        """Returns what builds an object. Raises `UnknownOperatorError` and `UnsupportedError`."""

        from opperf.frameworks import user_code

        def called(path: str) -> Callable[..., Any]:
            return self.function(CallableTarget(self.name, path))

        return user_code.constructor_of(target, called, (self.name,))

    def call_parameters(self, built: type) -> dict[str, bool] | None:
        """Returns what an object is called with, each with whether it is required, or None."""
        from opperf.frameworks import user_code

        return user_code.call_parameters(built)

    def is_layer(self, function: Callable[..., Any]) -> bool:
        """Whether a callable is a class of layers, of which an object is called."""
        return False

    def place_weights(self, built: Any, case: Case) -> Any:
        """Returns an object with its weights on the case's device and in its dtype."""
        return built


class Devices(Core):
    """Devices, their queues, caches and memory. Default: the CPU, synchronous, without events."""

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

    def missing_kernel(self, operator: Operator, device: str) -> str:
        """Returns why a device cannot run an operator; empty if it can, or a call has to show."""
        return ""

    def device_memory(self, device: str) -> int:
        """Returns the number of bytes that can still be allocated."""
        import psutil

        return int(psutil.virtual_memory().available)

    def synchronize(self, device: str) -> None:
        """Waits until all work is done. Raises what the work raised."""
        # A call returns when it is done.

    def has_queue(self, device: str) -> bool:
        """Whether a call may return before its work is done. Default: by `synchronize`."""
        return type(self).synchronize is not Devices.synchronize

    def is_asynchronous(self, device: str) -> bool:
        """Whether calls return before their work is done, on a device slow to synchronise."""
        return False

    def uuid(self, device: str) -> str:
        """Returns the UUID by which NVIDIA's library knows a GPU; empty for any other device."""
        return ""

    def empty_kernel(self, device: str) -> Callable[[], object] | None:
        """Returns a callable that launches a kernel with next to no work, if there can be one."""
        return None

    def has_events(self, device: str) -> bool:
        return False

    def event(self, device: str) -> Event:
        """Returns a new event for the queue of the device's calls. Raises `UnsupportedError`."""
        raise UnsupportedError(f"{self.name} has no events on {device}; use --profiler python")

    def cache_flush(self, device: str) -> Callable[[], object] | None:
        """Returns a callable that flushes the device's caches; None to overwrite a CPU's caches,
        and to rotate calls on other devices through copies of their inputs."""
        return None

    def memory(self, device: str) -> AbstractContextManager[MemoryReading]:
        """Returns a context, which may be nested, that measures. Raises `UnsupportedError`."""
        raise UnsupportedError(f"{self.name} does not report the memory that it allocates")

    def keeps_workspace(self, device: str) -> bool:
        """Whether it keeps workspace of one operator for later ones, so that only a process that
        has run nothing can measure all that a call needs."""
        return True


class Arrays(Core):
    """Operations on arrays. Default: one array type, no memory formats, no arrays of users."""

    memory_formats: tuple[str, ...] = ()
    """Names for `TensorSpec.memory_format` that `tensor` supports, beside the default."""

    def array_type(self, target: Target) -> str:
        """Returns the array type that the target takes, one of `TensorSpec.array_type`."""
        return ""

    def constant(self, value: Constant, device: str) -> Any:
        """Returns the framework's object for a plain value of a case. Raises `UnsupportedError`."""
        raise UnsupportedError(f"{self.name} does not take a {type(value).__name__} as an argument")

    def view(self, storage: Any, spec: TensorSpec) -> Any:
        """Returns a view of a one-dimensional tensor, as specified. Raises `UnsupportedError`."""
        raise UnsupportedError(f"{self.name} does not support strides or shared storage")

    def describe(self, value: Any) -> TensorSpec | None:
        """Returns the spec of a tensor that a user passed; None for any other value. Raises
        `UsageError` for a tensor that no case can have."""
        return None

    def copy_to_device(self, value: Any, spec: TensorSpec, device: str) -> Any:
        """Returns a copy, on the device, of a user's array, in the spec's dtype if that has one."""
        raise UnsupportedError(f"{self.name} takes shapes only, not arrays")

    def write(self, view: Any, value: Any, spec: TensorSpec) -> Any:
        """Returns a `view` with the contents of an array that a user passed."""
        raise UnsupportedError(f"{self.name} does not support strides or shared storage")

    def memory_of(self, value: Any) -> int | None:
        """Returns what views of one memory have in common; None for an array that shares none."""
        return None

    def requires_gradient(self, value: Any) -> bool:
        """Whether the user has requested a gradient with respect to an array."""
        return False

    def narrowed(self, dtype: str, beside: Collection[str], settings: Settings) -> str:
        """Returns the dtype that an array of NumPy gets, beside arrays of other dtypes."""
        return dtype

    def contents(self, value: Any) -> Contents | None:
        """Returns what a tensor holds; None for any other value, and by default."""
        return None

    def has_nan(self, outputs: Any) -> bool:
        """Whether any tensor of a call's results has a NaN."""
        return False

    def extents(self, values: Any) -> list[Extent]:
        """Returns the places in memory of the tensors among values. Tensors that share memory, as a
        view and its base, have addresses in common."""
        return []

    def large_tensor_limit(self) -> str:
        """Returns why this build has no tensors of more than 2**31 elements; empty if it has."""
        return ""


class Modes(Core):
    """Execution modes, and what compiles. Default: eager, without mixed precision."""

    modes: tuple[str, ...] = ("eager",)
    """Its execution modes, the default one first."""
    autocast_dtypes: tuple[str, ...] = ()
    compiled_modes: tuple[str, ...] = ()
    """Those of its `modes` that compile."""

    def compiles(self, mode: str) -> bool:
        """Whether a mode compiles, with whatever back end behind a colon."""
        return mode.partition(":")[0] in self.compiled_modes

    def mode_backends(self, mode: str) -> tuple[str, ...]:
        """Returns the back ends of a mode, which are named behind it and a colon. May import what
        knows them."""
        return ()

    def mode_obstacle(self, mode: str) -> str:
        """Returns why this environment cannot run one of its modes; empty if it can."""
        return ""

    def scope(self, case: Case) -> AbstractContextManager[None]:
        """Returns a context of the phase, array semantics, mixed precision and device of a case."""
        return nullcontext()

    def compilation(self, call: Callable[[], Any]) -> Mapping[str, float]:
        """Returns the figures of compiling a case since its `scope` began, by the metric's name, in
        its unit. `call` is the result of `bind`, in one of the `compiled_modes`."""
        return {}

    def compiled_flops(self, call: Callable[[], Any]) -> Flops | None:
        """Returns the operations of a case's forward pass by its compiler's count; None if that
        counts none. `call` is as of `compilation`."""
        return None

    def removed_work(
        self,
        case: Case,
        arguments: Mapping[str, Any],
        function: Callable[..., Any] | None,
        call: Callable[[], Any],
        gradient: Callable[[], Gradient] | None,
    ) -> Sequence[Note]:
        """Returns notes on the passes most of whose work a compiler has removed. `call`, which was
        measured, is the result of `bind` with these values, or a model; `gradient` makes its
        gradient, if that was measured."""
        return ()

    def repeated(self, call: Callable[[], Any]) -> Callable[[], Any]:
        """Returns the result of `bind` without the steps that only other measurements need."""
        return call

    def compiled_mark(self, case: Case) -> Path | None:
        """Returns the path of a file that says that a cache has the programs of a case, for all
        processes with this environment; None if it has none, or is not to be used."""
        return None

    def compile_ahead(self, call: Callable[[], Any], inputs: Sequence[Any]) -> None:
        """Compiles what a call runs and what its gradient with respect to `inputs` does, into the
        cache, without running them. Raises what the compiler raises."""

    def first_compile_ns(self, call: Callable[[], Any]) -> float:
        """Returns what compiling took of a call's first, in nanoseconds, without its gradient."""
        return 0.0

    def build(self, cases: Sequence[Case]) -> None:
        """Compiles together, as is quicker, what cases need. Errors are of the cases' records."""

    def drawing_as_eager(self, mode: str) -> AbstractContextManager[None] | None:
        """Returns a context in which what a mode compiles draws the random numbers that eager mode
        draws from the same seed; None if every mode does so, or none can."""
        return None


class Gradients(Core):
    """Differentiation. Default: none."""

    gradients: bool = False

    def gradient(self, case: Case, call: Callable[[], Any], inputs: Sequence[Any]) -> Gradient:
        """Returns the call as a computation to differentiate, with respect to the tensors `inputs`.
        Raises `NoGradientError` if a trial shows that there is no gradient."""
        raise NoGradientError(f"{self.name} does not compute gradients")

    def parameter_names(self, target: Target) -> tuple[str, ...]:
        """Returns the names of a module's parameters, of which gradients can be chosen."""
        return ()

    def record_forward(self, case: Case, call: Callable[[], Any], inputs: Sequence[Any]) -> None:
        """Has calls, if the phase says so, record what gradients with respect to `inputs` need."""
        # The forward pass of a gradient is another computation.


class Models(Core):
    """Models with example inputs. Default: none."""

    def model(self, case: Case, model: Model) -> RunnableModel:
        """Returns a model on the case's device, in its dtype, mode and phase, with its inputs. To
        be called and run in the case's scope. Raises `UnsupportedError` and `UsageError`."""
        raise UnsupportedError(f"{self.name} does not run models")


class Inference(Core):
    """Shapes and steps of operators, found without a call. Default: none."""

    def output_shapes(self, case: Case) -> list[tuple[int, ...]] | None:
        """Returns the shapes of the case's outputs; None if only a call can show them."""
        return None

    def with_outputs(
        self, operator: Operator, arguments: Mapping[str, Argument]
    ) -> Mapping[str, Argument]:
        """Returns the arguments with tensors for the results. Raises `UnsupportedError`."""
        return arguments

    def returning(self, operator: Operator) -> Operator | None:
        """Returns the operator that returns what this one writes to tensors; None without one."""
        return None

    def fits_in_place(self, operator: Operator, arguments: Mapping[str, Argument]) -> bool:
        """Whether a result can be written to the argument it is for, as far as that is known."""
        return True

    def foreseen_refusal(self, case: Case) -> str:
        """Returns why a call would be refused; empty if only the call can show it."""
        return ""

    def with_inferred_shapes(self, case: Case) -> Case:
        """Returns the case with `UNKNOWN` shapes inferred. Raises `UnsupportedError`."""
        raise UnsupportedError(f"{self.name} does not infer shapes")

    def callers(self, operator: Operator) -> tuple[Operator, ...] | None:
        """Returns the operators that this one is a step of, and has its inputs of, the nearest
        first; None for an operator that has inputs of its own."""
        return None

    def steps(
        self, caller: Operator, arguments: Mapping[str, Argument]
    ) -> Iterable[Mapping[str, Mapping[str, Argument]]]:
        """Returns, for each pass of a call, each operator's largest call in it, by name."""
        return ()

    def with_overload(self, case: Case) -> Case:
        """Returns a recorded call without an overload with the one that takes its arguments."""
        return case

    def only_views(self, target: Target) -> bool:
        """Whether a target only makes a view of an argument, and computes nothing."""
        return False

    def replay(self, case: Case, sequence: CallSequence, group: Group | None = None) -> Replayed:
        """Returns a recorded sequence of calls, ready to be replayed on the case's device. A call
        that fails is omitted. `group` are the processes that make collective operations together;
        None for this one alone. Raises `UnsupportedError`."""
        raise UnsupportedError(f"{self.name} replays no traces")


class Restoring(Core):
    """Arguments that a call writes to. Default: none is restored."""

    def restore(
        self, case: Case, arguments: Mapping[str, Any], call: Callable[[], Any]
    ) -> Callable[[], object] | None:
        """Returns a function that gives the arguments which a call writes to their contents of now;
        None if it writes to none, or only a call can show it."""
        return None

    def watch(self, target: Target, value: Any, call: Callable[[], Any]) -> Watched | None:
        """Returns an argument of a call, to see later whether the call wrote to it; else None."""
        return None

    def keep(self, value: Any) -> Kept | None:
        """Returns an array, or what else has contents that a user's code can change and that is no
        container, with a copy of them; else None."""
        return None

    def write_numbers(self, call: Callable[[], Any], tensor: Any, numbers: Any) -> Any:
        """Gives a dense tensor of a call other contents, an array of NumPy of its shape, and
        returns it, or a new one that the call has in its place. Raises `UnsupportedError`."""
        raise UnsupportedError(f"{self.name} writes no other contents to a call's inputs")


class Scripts(Core):
    """Cases as scripts. Default: none."""

    def source(self, case: Case, arguments: Mapping[str, Any], call: Callable[[], Any]) -> str:
        """Returns a script of the case's tensors and its call. Raises `UnsupportedError`."""
        raise UnsupportedError(f"{self.name} does not write scripts")


class Processes(Core):
    """The build and its processes: options, threads, forks, random numbers. Default: the version,
    and threads of OpenMP or BLAS, whose number opperf sets before the framework is imported."""

    variables: tuple[str, ...] = ()
    """The framework's environment variables that decide how it computes."""
    own_variables: tuple[str, ...] = ()
    """Environment variables that the framework sets for itself when it first needs them."""
    private_names: ModuleType | None = None
    """The module that lists the names without a public interface, each a `PrivateName`."""
    has_own_threads: bool = False
    """Whether kernels run on threads of the framework even with one compute thread."""

    def versions(self) -> dict[str, str]:
        """Returns the versions of the framework and of the libraries that its results depend on."""
        return {self.name: self.version()}

    def features(self) -> dict[str, bool]:
        """Returns whether each build feature is enabled, by name."""
        return {}

    def commit(self) -> str:
        """Returns the commit that the framework was built from; empty if unknown."""
        return ""

    def absent_names(self) -> tuple[str, ...]:
        """Returns the private names that this version lacks, each with what needs it."""
        return absent_names(self.private_names) if self.private_names is not None else ()

    def unavailable(self, refusal: str) -> bool:
        """Whether a refusal means that this build or device lacks the kernel, for any inputs."""
        return False

    def option(self, name: str, text: str) -> Callable[[], object]:
        """Returns a callable that sets an option to the value of a text. Raises `UsageError` for an
        unknown option, with near names, and for a value that it does not take."""
        raise UsageError(f"{self.name} has no options for --set, such as {name!r}; omit it")

    def set_threads(self, count: int) -> None:
        """Sets the number of compute threads; called before any computation."""
        # Environment variables of OpenMP and BLAS have set the number.

    def threads(self) -> int | None:
        """Returns the number of compute threads; None if the framework does not report it."""
        return None

    def supports_fork(self, device: str) -> bool:
        """Whether a fork of a process that has imported the framework can use the device."""
        return False

    def prepare_forks(self, rehearsed: bool) -> None:
        """Imports what each fork would import at its first use; with `rehearsed`, only what calls
        of operators and their backward passes do."""
        # All is imported with the framework.

    def process_parts(self) -> tuple[ProcessPart, ...]:
        """Returns what a call may change in the process for all later ones, as its default dtype,
        beside what any process has."""
        return ()

    def seed(self, seed: int) -> None:
        """Seeds the framework's own random numbers, of which a user's code may draw."""
        # Without random numbers of its own, those of NumPy are drawn.

    def random_state(self, device: str) -> object:
        """Returns the state of the framework's random numbers, which is another one once some were
        drawn; None if that is not known."""
        return None


class Profilers(Core):
    """The framework's own profilers and traces. Default: none; every framework has `python`."""

    def profilers(self) -> Mapping[str, ProfilerFactory]:
        """Returns a factory of each of its profilers, by name, the preferred one first."""
        return {}

    def tracing(
        self, chrome: Path | None, execution: Path | None
    ) -> AbstractContextManager[Callable[[str], AbstractContextManager[object]]]:
        """Returns a context whose work is traced to files, those that are not None, and that yields
        a function of contexts which label a part of the work. Raises `UnsupportedError`."""
        raise UnsupportedError(f"{self.name} writes no traces")

    def ranges(self) -> Ranges | None:
        """Returns a function of contexts, each a named range that profilers of NVIDIA's see; None
        if there is none. Default: those of the package `nvtx`."""
        return package_ranges()

    def recorder(self, calls: Calls, end_step: EndStep) -> Recorder:
        """Returns what records the framework's calls in this process, and says when a step of an
        optimizer has ended. Raises `UnsupportedError`. Default: nothing sees them."""
        raise UnsupportedError(
            f"the calls of {self.name} cannot be recorded: it has nothing that sees them"
        )


def needs_build(case: Case) -> bool:
    """Whether the code of a case is compiled ahead of the run."""
    return isinstance(case.target, SnippetTarget) and case.target.language == "c++"


class Framework(
    Naming,
    Objects,
    Devices,
    Arrays,
    Modes,
    Gradients,
    Models,
    Inference,
    Restoring,
    Scripts,
    Processes,
    Profilers,
    Core,
):
    """A framework whose operators can be measured. What it does not override has the default."""
