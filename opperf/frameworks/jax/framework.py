"""JAX as opperf's `Framework`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jaxlib.version

from opperf.errors import NoGradientError, UnsupportedError
from opperf.frameworks import call_capabilities, capabilities, numpy_arrays, paths
from opperf.frameworks.base import CallArguments, Constant, Gradient, ProcessPart, Watched
from opperf.frameworks.capabilities import FACTOR, SMALL, Framework, denormals
from opperf.frameworks.jax import (
    WIDE,
    collectives,
    compiling,
    dead_code,
    functions,
    messages,
    models,
    primitives,
    private,
    programs,
    recorder,
    registry,
    source,
    steps,
    tensors,
)
from opperf.frameworks.jax.compiling import expected
from opperf.frameworks.jax.devices import (
    DTYPES,
    devices,
    free_memory,
    has_wide,
    jax_device,
    parse,
    wide,
)
from opperf.frameworks.jax.gradient import VectorJacobianProduct, compile_gradient, compiled_alike
from opperf.frameworks.jax.memory import measure
from opperf.frameworks.jax.thunks import NativeProfiler
from opperf.frameworks.timing import ProfilerFactory
from opperf.model import Argument, Case, Note, Operator, Target, TensorSpec


def _set_config(before: Mapping[str, Any]) -> None:
    for name, value in before.items():
        if jax.config.values.get(name) != value:
            jax.config.update(name, value)


PARTS = (
    ProcessPart(
        "JAX's configuration changed", lambda: dict(jax.config.values), _set_config, is_set_up=True
    ),
)


class _Naming(capabilities.Naming):
    roots = functions.ROOTS
    usual_namespaces = ("jnp", "nn")
    target_of = staticmethod(functions.target_of)
    callable_target = staticmethod(functions.target_at)

    def registered(self) -> int:
        return len(registry.public_functions()) + len(primitives.operators())

    def namespaces_with(self, namespace: str) -> tuple[str, ...]:
        return ("jnp", "nn") if namespace in ("numpy", "jnp") else (namespace,)

    def function_paths(self) -> tuple[str, ...]:
        modules = {f"jax.{place.path}": module for place, module in registry.places()}
        return paths.public_paths(modules)


class _Objects(capabilities.Objects):
    model = models.JAXModel


class _DeviceMemory(capabilities.DeviceMemory):
    available = staticmethod(free_memory)
    measure = staticmethod(measure)

    def keeps_workspace(self, device: str) -> bool:
        # What XLA plans for a call does not depend on others.
        return False


class _Arrays(call_capabilities.Arrays):
    describe = staticmethod(tensors.describe)
    extents = staticmethod(tensors.extents)
    contents = staticmethod(tensors.contents)
    narrowed = staticmethod(tensors.narrowed)

    def constant(self, value: Constant, device: str) -> Any:
        made = functions.constant(value, device)
        return super().constant(value, device) if made is None else made

    def copy_to_device(self, value: Any, spec: TensorSpec, device: str) -> Any:
        with expected():
            return tensors.copy_to_device(value, spec, device)

    def has_nan(self, outputs: Any) -> bool:
        with expected():
            return tensors.has_nan(outputs)


class _Modes(call_capabilities.Modes):
    names: tuple[str, ...] = tuple(programs.MODES)
    compiled: tuple[str, ...] = programs.COMPILED
    compilation = staticmethod(models.costs)

    def repeated(self, call: Callable[[], Any]) -> Callable[[], Any]:
        return call.repeated() if isinstance(call, programs.CompiledCall) else call

    def compiled_mark(self, case: Case) -> Path | None:
        is_cached = case.settings.compile_cache == "warm" and self.compiles(case.settings.mode)
        return compiling.mark(case) if is_cached else None

    def compile_ahead(self, call: Callable[[], Any], inputs: Sequence[Any]) -> None:
        assert isinstance(call, programs.CompiledCall)
        call.program.compile(call.arrays)
        compile_gradient(call, inputs)

    def first_compile_ns(self, call: Callable[[], Any]) -> float:
        return call.program.cost.first_ns if isinstance(call, programs.CompiledCall) else 0.0

    def removed_work(
        self, case: Case, call: Callable[[], Any], gradient: Callable[[], Gradient] | None
    ) -> list[Note]:
        made = call.call if isinstance(call, models.JAXModel) else call
        return dead_code.notes(made) if isinstance(made, programs.CompiledCall) else []


class _Differentiation(call_capabilities.Differentiation):
    supported = conjugated = True

    def gradient(self, case: Case, call: Callable[[], Any], inputs: Sequence[Any]) -> Gradient:
        if isinstance(call, partial):
            call = compiled_alike(call)
        if not isinstance(call, programs.CompiledCall | programs.EagerCall):
            raise NoGradientError("its arrays are hidden in a function without arguments")
        return VectorJacobianProduct(call, inputs)


class _Recordings(call_capabilities.Recordings):
    recorder = recorder.JAXRecorder

    def source(self, case: Case, arguments: CallArguments, call: Callable[[], Any]) -> str:
        called = functions.bind(self.framework.function(case.target), arguments, case.settings.seed)
        return source.script(case, arguments, called)


class _Inference(call_capabilities.Inference):
    missing_kernel = staticmethod(primitives.missing_lowering)

    def callers(self, operator: Operator) -> tuple[Operator, ...] | None:
        is_primitive = operator.namespace == primitives.NAMESPACE
        return primitives.callers(operator.name) if is_primitive else None

    def steps(
        self, caller: Operator, arguments: Mapping[str, Argument]
    ) -> Iterable[Mapping[str, Mapping[str, Argument]]]:
        # Collectives are no programs but inside one of several devices.
        if collectives.is_collective(caller.target):
            return ()
        return steps.steps(self.framework.function(caller.target), arguments)

    def output_shapes(self, case: Case) -> list[tuple[int, ...]] | None:
        return functions.output_shapes(self.framework, case)


class _Restoring(call_capabilities.Restoring):
    keep = staticmethod(numpy_arrays.keep)

    def restore(
        self, case: Case, arguments: CallArguments, call: Callable[[], Any]
    ) -> Callable[[], object] | None:
        return call.renew if isinstance(call, programs.DonatingCall) else None

    def watch(self, target: Target, value: Any, call: Callable[[], Any]) -> Watched | None:
        if isinstance(value, jax.Array) and isinstance(call, programs.EagerCall):
            return programs.Donatable(value, call)
        return None

    def write_numbers(self, call: Callable[[], Any], tensor: Any, numbers: Any) -> Any:
        if tensors.is_key(tensor):
            return tensor
        with expected():
            made = tensors.like(tensor, numbers)
        call.replace(tensor, made)  # type: ignore[attr-defined]
        return made


class _BuildInfo(capabilities.BuildInfo):
    private_names = private
    unavailable = messages.UNAVAILABLE

    def versions(self) -> dict[str, str]:
        return {"jax": self.framework.version(), "jaxlib": str(jaxlib.version.__version__)}

    def features(self) -> dict[str, bool]:
        kinds = dict.fromkeys(name.partition("(")[0] for name in self.framework.devices())
        return {**dict.fromkeys(kinds, True), "x64": has_wide()}

    def absent_names(self) -> tuple[str, ...]:
        absent = (place.path for place in registry.PLACES if place.module is None)
        modules = (f"jax.{path} (for its functions)" for path in absent)
        return (*super().absent_names(), *modules)


class _Processes(capabilities.Processes):
    has_own_threads = True
    parts = PARTS
    option = staticmethod(compiling.option)

    def numerics(self) -> dict[str, str]:
        small, factor = (jax.numpy.full(1, value, "float32") for value in (SMALL, FACTOR))
        products = jax.config.values["jax_default_matmul_precision"] or "default"
        return {**denormals(float((small * factor)[0])), "products": str(products)}

    def set_threads(self, count: int) -> None:
        """Limits the process to that many processors, as many as XLA's pool then has threads."""
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:count])

    def threads(self) -> int | None:
        return len(os.sched_getaffinity(0))


class _Profilers(capabilities.Profilers):
    compiled_flops = staticmethod(models.compiled_flops)

    def own(self) -> Mapping[str, ProfilerFactory]:
        return {"native": NativeProfiler} if private.PROFILE_DATA.find() else {}


class JAX(Framework):
    """The framework, for one process."""

    name = registry.FRAMEWORK
    rules = "opperf.rules.jax"
    dtypes: tuple[str, ...] = DTYPES
    capabilities = (
        *(_Naming, _Objects, _DeviceMemory, _Arrays, _Modes, _Differentiation, _Recordings),
        *(_Inference, _Restoring, _BuildInfo, _Processes, _Profilers),
    )
    devices = staticmethod(devices)
    parse_device = staticmethod(parse)
    function = staticmethod(functions.function_of)
    refusal = staticmethod(messages.refusal)

    def version(self) -> str:
        return str(jax.__version__)

    def operators(self) -> tuple[Operator, ...]:
        both = (*registry.operators(), *primitives.operators())
        return tuple(sorted(both, key=lambda one: one.name))

    def resolve(self, name: str) -> Operator | None:
        return registry.find(name) or primitives.find(name)

    def signature(self, target: Target, function: Callable[..., Any] | None = None) -> Operator:
        return functions.signature(target, function or self.function(target))

    def tensor(self, spec: TensorSpec, device: str, seed: int) -> Any:
        with expected():
            return tensors.tensor(spec, device, seed)

    def bind(
        self, case: Case, arguments: CallArguments, function: Callable[..., Any] | None = None
    ) -> programs.Call:
        called = function or self.function(case.target)
        call = functions.bind(called, arguments, case.settings.seed)
        if collectives.is_collective(case.target):
            call = collectives.over_devices(call)
        flat = programs.Flat(call)
        if self.naming.is_own(case.target):
            donated = flat.indices(
                arguments[name]
                for name, value in case.arguments.items()
                if isinstance(value, TensorSpec) and value.donated
            )
        else:
            donated = programs.donated_argnums(flat)
        return programs.MODES[case.settings.mode](call, donated)

    @contextmanager
    def scope(self, case: Case) -> Iterator[None]:
        """Also suppresses warnings, such as those of functions that will be removed, and has a case
        for which the device has too little memory skipped."""
        device = jax_device(case.settings.device)
        is_wide = case.settings.dtype in WIDE or has_wide()
        with (
            warnings.catch_warnings(),
            jax.default_device(device),
            wide(is_wide),
            compiling.cache(case.settings.compile_cache == "cold"),
            _skip_out_of_memory(case.settings.device),
        ):
            warnings.simplefilter("ignore")
            yield


@contextmanager
def _skip_out_of_memory(device: str) -> Iterator[None]:
    try:
        yield
    except jax.errors.JaxRuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        raise UnsupportedError(f"{device} has too little memory for it") from error
