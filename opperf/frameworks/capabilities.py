"""The capabilities of a framework, each with its default, beside the required core; those of calls
are in `call_capabilities`. What the defaults need is imported by them, as commands that measure
nothing read this module too."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, TypeVar

from opperf.errors import UnknownOperatorError, UnsupportedError, UsageError, suggest
from opperf.frameworks import paths
from opperf.frameworks.base import CallArguments, Flops, MemoryReading, ProcessPart
from opperf.frameworks.call_capabilities import (
    Arrays,
    Differentiation,
    Inference,
    Modes,
    Recordings,
    Restoring,
)
from opperf.frameworks.core import Capability, Core
from opperf.frameworks.installed import absent_names
from opperf.frameworks.models import Model, RunnableModel
from opperf.frameworks.timing import Event, ProfilerFactory
from opperf.model import (
    CallableTarget,
    Case,
    Note,
    ObjectTarget,
    Operator,
    OperatorTarget,
    SnippetTarget,
    Target,
)


class Naming(Capability):
    """Lookup of names and callables. Default: by the list of operators."""

    roots: Mapping[str, ModuleType] = MappingProxyType({})
    """Modules of the framework by the first word of a dotted path."""
    usual_namespaces: tuple[str, ...] = ()
    """Namespaces of the operators that users call first, of several that do the same; empty where
    none is preferred."""

    def registered(self) -> int:
        """Returns the number of all names in the registry, those of internal entries included."""
        return sum(len(operator.names) for operator in self.framework.operators())

    def importing(self) -> AbstractContextManager[None]:
        """Returns a context in which a user's module is imported, with the user's operators."""
        return nullcontext()

    def namespaces_with(self, namespace: str) -> tuple[str, ...]:
        """Returns a namespace with those that users take beside it, for what it lacks."""
        return (namespace,)

    def target_of(self, function: Callable[..., Any]) -> Target:
        """Returns the target of a callable that a user passed."""
        return CallableTarget(framework=self.framework.name, path=paths.path_of(function))

    def callable_target(self, path: str) -> Target:
        """Returns the target at a path, `nd.add`. Raises `UnknownOperatorError`."""
        from opperf.frameworks import user_code

        target = user_code.target_at(self.framework.name, path)
        if target is None:
            names = [name for operator in self.framework.operators() for name in operator.names]
            raise UnknownOperatorError(
                f"{self.framework.name} has no operator {path!r}{suggest(path, names)}"
            )
        self.framework.function(target)
        return target

    def function_paths(self) -> tuple[str, ...]:
        """Returns the paths of functions that suggestions for unknown names may name."""
        return ()

    def wrapped_operator(self, target: Target, called: Operator) -> Operator | None:
        """Returns the registered operator that a target is or calls, if `called` is one."""
        return called if self.framework.resolve(called.name) == called else None

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


class Objects(Capability):
    """Objects that are built before they are called, and models with example inputs. Default:
    objects of any package, as they are; no models."""

    def constructor(self, target: ObjectTarget) -> Callable[..., Any]:
        """Returns what builds an object. Raises `UnknownOperatorError` and `UnsupportedError`."""

        from opperf.frameworks import user_code

        def called(path: str) -> Callable[..., Any]:
            return self.framework.function(CallableTarget(self.framework.name, path))

        return user_code.constructor_of(target, called, (self.framework.name,))

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

    def parameter_names(self, target: Target) -> tuple[str, ...]:
        """Returns the names of a module's parameters, of which gradients can be chosen."""
        return ()

    def model(self, case: Case, model: Model) -> RunnableModel:
        """Returns a model on the case's device, in its dtype, mode and phase, with its inputs. To
        be called and run in the case's scope. Raises `UnsupportedError` and `UsageError`."""
        raise UnsupportedError(f"{self.framework.name} does not run models")


class Queues(Capability):
    """Queues of devices: events, and caches. Default: calls return when they are done."""

    def has_queue(self, device: str) -> bool:
        """Whether a call may return before its work is done. Default: by `synchronize`."""
        return type(self.framework).synchronize is not Core.synchronize

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
        raise UnsupportedError(
            f"{self.framework.name} has no events on {device}; use --profiler python"
        )

    def cache_flush(self, device: str) -> Callable[[], object] | None:
        """Returns a callable that flushes the device's caches; None to overwrite a CPU's caches,
        and to rotate calls on other devices through copies of their inputs."""
        return None


class DeviceMemory(Capability):
    """Memory of devices. Default: that of the machine, of which no one knows who allocates it."""

    def available(self, device: str) -> int:
        """Returns the number of bytes that can still be allocated."""
        import psutil

        return int(psutil.virtual_memory().available)

    def measure(self, device: str) -> AbstractContextManager[MemoryReading]:
        """Returns a context, which may be nested, that measures. Raises `UnsupportedError`."""
        raise UnsupportedError(
            f"{self.framework.name} does not report the memory that it allocates"
        )

    def keeps_workspace(self, device: str) -> bool:
        """Whether it keeps workspace of one operator for later ones, so that only a process that
        has run nothing can measure all that a call needs."""
        return True


class BuildInfo(Capability):
    """The build of the framework: versions and what it lacks. Default: the version alone."""

    private_names: ModuleType | None = None
    """The module that lists the names without a public interface, each a `PrivateName`."""
    unavailable: re.Pattern[str] = re.compile("(?!)")
    """Refusals that mean that this build or device lacks the kernel, for any inputs."""

    def versions(self) -> dict[str, str]:
        """Returns the versions of the framework and of the libraries that its results depend on."""
        return {self.framework.name: self.framework.version()}

    def features(self) -> dict[str, bool]:
        """Returns whether each build feature is enabled, by name."""
        return {}

    def commit(self) -> str:
        """Returns the commit that the framework was built from; empty if unknown."""
        return ""

    def absent_names(self) -> tuple[str, ...]:
        """Returns the private names that this version lacks, each with what needs it."""
        return absent_names(self.private_names) if self.private_names is not None else ()

    def large_tensor_limit(self) -> str:
        """Returns why this build has no tensors of more than 2**31 elements; empty if it has."""
        return ""


class Processes(Capability):
    """Its processes: options, threads, forks, random numbers. Default: threads of OpenMP or BLAS,
    whose number opperf sets before the framework is imported."""

    variables: tuple[str, ...] = ()
    """The framework's environment variables that decide how it computes. Default: the package's."""
    own_variables: tuple[str, ...] = ()
    """Environment variables that the framework sets for itself when it first needs them."""
    has_own_threads: bool = False
    """Whether kernels run on threads of the framework even with one compute thread."""
    parts: tuple[ProcessPart, ...] = ()
    """Parts of the process that a call may change for all later ones, as its default dtype, beside
    those of any process."""

    def option(self, name: str, text: str) -> Callable[[], object]:
        """Returns a callable that sets an option to the value of a text. Raises `UsageError` for an
        unknown option, with near names, and for a value that it does not take."""
        raise UsageError(
            f"{self.framework.name} has no options for --set, such as {name!r}; omit it"
        )

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


class Profilers(Capability):
    """Its own profilers, traces and counts of operations. Default: none; any has `python`."""

    def own(self) -> Mapping[str, ProfilerFactory]:
        """Returns a factory of each of its profilers, by name, the preferred one first."""
        return {}

    def tracing(
        self, chrome: Path | None, execution: Path | None
    ) -> AbstractContextManager[Callable[[str], AbstractContextManager[object]]]:
        """Returns a context whose work is traced to files, those that are not None, and that yields
        a function of contexts which label a part of the work. Raises `UnsupportedError`."""
        raise UnsupportedError(f"{self.framework.name} writes no traces")

    def ranges(self) -> Ranges | None:
        """Returns a function of contexts, each a named range that profilers of NVIDIA's see; None
        if there is none. Default: those of the package `nvtx`."""
        return package_ranges()

    def compiled_flops(self, call: Callable[[], Any]) -> Flops | None:
        """Returns the operations of a case's forward pass by its compiler's count; None if that
        counts none. `call` is as of `compilation`."""
        return None

    def call_flops(self, case: Case, arguments: CallArguments, results: Any) -> Flops | None:
        """Returns the operations of an operator's call by the framework's own formula, from what it
        was given and returned; None without one."""
        return None

    def counting(self) -> AbstractContextManager[Callable[[], Flops]] | None:
        """Returns a context that counts the operations of calls inside it, and has a function that
        returns them; None if the framework counts none."""
        return None


C = TypeVar("C", bound=Capability)


class Framework(Core):
    """A framework whose operators can be measured."""

    capabilities: tuple[type[Capability], ...] = ()
    """Classes of what it has. Of anything else the default is that of a framework without."""

    def __init__(self) -> None:
        self.naming = self._own(Naming)
        self.objects = self._own(Objects)
        self.queues = self._own(Queues)
        self.memory = self._own(DeviceMemory)
        self.build = self._own(BuildInfo)
        self.processes = self._own(Processes)
        self.profilers = self._own(Profilers)
        self.arrays = self._own(Arrays)
        self.modes = self._own(Modes)
        self.gradients = self._own(Differentiation)
        self.recordings = self._own(Recordings)
        self.inference = self._own(Inference)
        self.restoring = self._own(Restoring)

    def _own(self, default: type[C]) -> C:
        own = (made for made in self.capabilities if issubclass(made, default))
        return next(own, default)(self)


def needs_build(case: Case) -> bool:
    """Whether the code of a case is compiled ahead of the run."""
    return isinstance(case.target, SnippetTarget) and case.target.language == "c++"


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
