"""The capabilities of a framework, each with its default, beside the required core; those of calls
are in `call_capabilities`. What the defaults need is imported by them, as commands that measure
nothing read this module too."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

from opperf.errors import DeviceError, UnknownOperatorError, UnsupportedError, UsageError, suggest
from opperf.frameworks import paths
from opperf.frameworks.base import CPU, Core, MemoryReading, ProcessPart
from opperf.frameworks.call_capabilities import (
    Arrays,
    Computations,
    Inference,
    Modes,
    Restoring,
)
from opperf.frameworks.calls import Calls, EndStep, Recorder
from opperf.frameworks.installed import absent_names
from opperf.frameworks.timing import Event, ProfilerFactory
from opperf.model import (
    CallableTarget,
    Case,
    Kind,
    Note,
    ObjectTarget,
    Operator,
    OperatorTarget,
    Parameter,
    SnippetTarget,
    Target,
)

DEVICE = re.compile(r"(?P<kind>[a-z]+)(?:\((?P<index>\d+)\))?")


class Naming(Core):
    """Lookup of names and callables. Default: by the list of operators."""

    roots: Mapping[str, ModuleType] = MappingProxyType({})
    """Modules of the framework by the first word of a dotted path."""

    usual_namespaces: tuple[str, ...] = ()
    """Namespaces of the operators that users call first, of several that do the same; empty where
    none is preferred."""

    def registered(self) -> int:
        """Returns the number of all names in the registry, those of internal entries included."""
        return sum(len(operator.names) for operator in self.operators())

    def importing(self) -> AbstractContextManager[None]:
        """Returns a context in which a user's module is imported, with the user's operators."""
        return nullcontext()

    def namespaces_with(self, namespace: str) -> tuple[str, ...]:
        """Returns a namespace with those that users take beside it, for what it lacks."""
        return (namespace,)

    def resolve(self, name: str) -> Operator | None:
        """Returns the operator of a registered name or alias; None if there is none."""
        return next((operator for operator in self.operators() if name in operator.names), None)

    def target_of(self, function: Callable[..., Any]) -> Target:
        """Returns the target of a callable that a user passed."""
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
        declared = paths.signature_of(function or self.function(target))
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


class Processes(Core):
    """The build and its processes: options, threads, forks, random numbers. Default: the version,
    and threads of OpenMP or BLAS, whose number opperf sets before the framework is imported."""

    variables: tuple[str, ...] = ()
    """The framework's environment variables that decide how it computes. Default: the package's."""
    own_variables: tuple[str, ...] = ()
    """Environment variables that the framework sets for itself when it first needs them."""
    private_names: ModuleType | None = None
    """The module that lists the names without a public interface, each a `PrivateName`."""
    unavailable: re.Pattern[str] = re.compile("(?!)")
    """Refusals that mean that this build or device lacks the kernel, for any inputs."""
    has_own_threads: bool = False
    """Whether kernels run on threads of the framework even with one compute thread."""
    process_parts: tuple[ProcessPart, ...] = ()
    """Parts of the process that a call may change for all later ones, as its default dtype, beside
    those of any process."""

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

    def option(self, name: str, text: str) -> Callable[[], object]:
        """Returns a callable that sets an option to the value of a text. Raises `UsageError` for an
        unknown option, with near names, and for a value that it does not take."""
        raise UsageError(f"{self.name} has no options for --set, such as {name!r}; omit it")

    def numerics(self) -> dict[str, str]:
        """Returns settings of the process that decide how precisely it computes, and the denormal
        numbers of its calls, by name. Default: none that could differ."""
        return {}

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
    Computations,
    Inference,
    Restoring,
    Processes,
    Profilers,
    Core,
):
    """A framework whose operators can be measured. What it does not override has the default."""


SMALL, FACTOR = 2e-38, 0.25
"""Numbers of float32 whose product is denormal."""


def denormals(product: float) -> dict[str, str]:
    """Returns what a framework does with the product of `SMALL` and `FACTOR`, as `numerics`."""
    return {"denormals": "kept" if product else "zero"}


DOMAIN = "opperf"
"""Domain of the ranges: the package's own default has another name than NVTX's."""

Ranges = Callable[[str], AbstractContextManager[None]]
"""Returns a context that is a range of this name. It is one of the calling thread, and one of the
process, in which work of the framework's own threads is too."""


def package_ranges() -> Ranges | None:
    """Returns ranges by the package `nvtx`; None if it is not installed."""
    try:
        import nvtx
    except ImportError:
        return None

    @contextmanager
    def ranged(name: str) -> Iterator[None]:
        started = nvtx.start_range(message=name, domain=DOMAIN)
        nvtx.push_range(message=name, domain=DOMAIN)
        try:
            yield
        finally:
            nvtx.pop_range(domain=DOMAIN)
            nvtx.end_range(started)

    return ranged
