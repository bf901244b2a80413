"""MXNet as opperf's `Framework`."""

from __future__ import annotations

import dis
import importlib.metadata
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from types import FunctionType
from typing import Any

import mxnet as mx
import numpy as np

from opperf.errors import UnknownOperatorError
from opperf.frameworks import call_capabilities, capabilities, paths, user_code
from opperf.frameworks.base import (
    CallArguments,
    Constant,
    Gradient,
    MemoryReading,
    ProcessPart,
    Watched,
)
from opperf.frameworks.capabilities import FACTOR, SMALL, Framework, denormals
from opperf.frameworks.installed import distribution_name
from opperf.frameworks.mxnet import (
    dead_code,
    functions,
    gradient,
    inference,
    models,
    private,
    recorder,
    registry,
    source,
    tensors,
    trace,
    user_operators,
)
from opperf.frameworks.mxnet.device import context, devices, free_memory, parse
from opperf.frameworks.mxnet.gradient import RecordedGradient, flatten
from opperf.frameworks.timing import ProfilerFactory
from opperf.frameworks.user_code import parameters_of
from opperf.model import (
    CallableTarget,
    Case,
    Device,
    DType,
    Note,
    NoteCode,
    Operator,
    OperatorTarget,
    Target,
)


def call_parameters(built: type) -> dict[str, bool] | None:
    """Returns what an object of a class is called with, as `Objects.call_parameters`."""
    if not issubclass(built, mx.gluon.Block):
        return user_code.call_parameters(built)
    if not issubclass(built, mx.gluon.HybridBlock):
        return parameters_of(getattr(built, "forward"))  # noqa: B009
    own = {name for base in _own_classes(built) for name in vars(base)}
    for name in ("__call__", "forward"):
        if name in own:
            return parameters_of(getattr(built, name))
    # The first ones are the object itself and the module of its functions.
    named = parameters_of(getattr(built, "hybrid_forward"), bound=2)  # noqa: B009
    weights = _weights(built)
    return {name: required for name, required in named.items() if name not in weights}


def _own_classes(built: type) -> tuple[type, ...]:
    return built.__mro__[: built.__mro__.index(mx.gluon.HybridBlock)]


def _weights(built: type) -> set[str]:
    """Returns the arguments of `hybrid_forward` that Gluon passes: the weights of an object whose
    required arguments are 1, or else the attributes that constructors set."""
    required = [name for name, needed in parameters_of(built.__init__).items() if needed]  # type: ignore[misc]
    try:
        return private.weights_of(built(**dict.fromkeys(required, 1)))
    except Exception:
        # A class may refuse its arguments in any way.
        return _attributes_set(built)


def _attributes_set(built: type) -> set[str]:
    """Returns the attributes that the constructors of a class, below Gluon's own, assign."""
    constructors = (vars(base).get("__init__") for base in _own_classes(built))
    return {
        step.argval
        for made in constructors
        if isinstance(made, FunctionType)
        for step in dis.get_instructions(made)
        if step.opname == "STORE_ATTR"
    }


PARTS = tuple(
    ProcessPart(f"MXNet's {what}", read, restore, is_set_up=True)
    for what, read, restore in (
        ("NumPy shapes turned on or off", mx.util.is_np_shape, mx.util.set_np_shape),
        (
            "recording of gradients turned on or off",
            mx.autograd.is_recording,
            mx.autograd.set_recording,
        ),
        ("mode of training changed", mx.autograd.is_training, mx.autograd.set_training),
    )
)

FALLBACK = "runs on the host's NumPy, not on an MXNet operator"

PATHS = {
    "nd": mx.nd,
    "np": mx.np,
    "npx": mx.npx,
    "np.linalg": mx.np.linalg,
    "np.random": mx.np.random,
    "nd.random": mx.nd.random,
}
"""Modules of functions that call operators of other names."""


class _Naming(capabilities.Naming):
    target_of = staticmethod(functions.target_of)

    def registered(self) -> int:
        return len(registry.registered())

    def callable_target(self, path: str) -> Target:
        target = user_code.target_at(self.framework.name, path)
        target = target or CallableTarget(framework=self.framework.name, path=path)
        functions.function_of(target)
        return target

    def function_paths(self) -> tuple[str, ...]:
        return paths.public_paths(PATHS)

    def wrapped_operator(self, target: Target, called: Operator) -> Operator | None:
        target = functions.canonical_target(target)
        if functions.is_fallback(target):
            return None
        return registry.wrapped_operator(target, called)

    def place(self, target: Target) -> str:
        return registry.place_of(functions.canonical_target(target))

    def notes(self, target: Target) -> tuple[Note, ...]:
        if functions.is_fallback(target):
            return (Note("", NoteCode.FALLBACK, FALLBACK),)
        return ()

    def namespaces_with(self, namespace: str) -> tuple[str, ...]:
        # Neural networks of arrays of `np` are in the other.
        return ("np", "npx") if namespace == "np" else (namespace,)


class _Objects(capabilities.Objects):
    constructor = staticmethod(functions.constructor_of)
    call_parameters = staticmethod(call_parameters)
    model = models.MXNetModel

    def is_layer(self, function: Callable[..., Any]) -> bool:
        return isinstance(function, type) and issubclass(function, mx.gluon.Block)

    def place_weights(self, built: Any, case: Case) -> Any:
        if isinstance(built, mx.gluon.Block):
            built.initialize(ctx=context(case.settings.device))
            built.cast(case.settings.dtype)
        return built


class _Queues(capabilities.Queues):
    def is_asynchronous(self, device: str) -> bool:
        # The engine queues calls on the CPU as well, but there synchronising while idle takes a
        # third of a microsecond, and calls that are queued together may run in parallel.
        return device.startswith("gpu")


class _DeviceMemory(capabilities.DeviceMemory):
    available = staticmethod(free_memory)

    def measure(self, device: str) -> AbstractContextManager[MemoryReading]:
        return trace.MemoryMeter(device).measure()


class _Arrays(call_capabilities.Arrays):
    describe = staticmethod(tensors.describe)
    copy_to_device = staticmethod(tensors.copy_to_device)
    extents = staticmethod(tensors.extents)
    contents = staticmethod(tensors.contents)
    narrowed = staticmethod(tensors.narrowed)

    def array_type(self, target: Target) -> str:
        return "np" if functions.is_numpy(target) else ""

    def constant(self, value: Constant, device: str) -> Any:
        if isinstance(value, DType):
            return tensors.dtype_of(value.name)
        if isinstance(value, Device):
            return context(value.name or device)
        return super().constant(value, device)

    def requires_gradient(self, value: Any) -> bool:
        return isinstance(value, mx.nd.NDArray) and value.grad is not None

    def has_nan(self, outputs: Any) -> bool:
        return any(tensors.has_nan(array) for array in flatten(outputs))


class _Modes(call_capabilities.Modes):
    names: tuple[str, ...] = ("eager", models.HYBRIDIZE)
    compiled: tuple[str, ...] = (models.HYBRIDIZE,)

    def removed_work(
        self, case: Case, call: Callable[[], Any], gradient: Callable[[], Gradient] | None
    ) -> list[Note]:
        return dead_code.notes(call)


class _Differentiation(call_capabilities.Differentiation):
    supported: bool = True

    def gradient(self, case: Case, call: Callable[[], Any], inputs: Sequence[Any]) -> Gradient:
        return RecordedGradient(
            call,
            inputs,
            case.settings.phase == "train",
            case.settings.device,
            [spec.gradient_layout for _, spec in case.tensors() if spec.gradient],
        )


class _Recordings(call_capabilities.Recordings):
    source = staticmethod(source.script)
    recorder = recorder.MXNetRecorder


class _Inference(call_capabilities.Inference):
    with_inferred_shapes = staticmethod(inference.complete_shapes)

    def output_shapes(self, case: Case) -> list[tuple[int, ...]] | None:
        operator = self.operator_of(case.target)
        if operator is None:
            return None
        return inference.output_shapes(operator.name, case.arguments)

    def operator_of(self, target: Target) -> Operator | None:
        if isinstance(target, OperatorTarget):
            return registry.by_name().get(target.name)
        if not isinstance(target, CallableTarget):
            return None
        try:
            return functions.operator_behind(functions.find(target.path))
        except UnknownOperatorError:
            # The path of a lambda or of a function inside another leads nowhere.
            return None


class _Restoring(call_capabilities.Restoring):
    framework: Framework

    keep = staticmethod(tensors.keep)
    write_numbers = staticmethod(tensors.write_numbers)

    def watch(self, target: Target, value: Any, call: Callable[[], Any]) -> Watched | None:
        return None if self.framework.naming.is_own(target) else tensors.watch(value)


class _BuildInfo(capabilities.BuildInfo):
    private_names = private
    unavailable = gradient.UNAVAILABLE

    def versions(self) -> dict[str, str]:
        return {
            "mxnet": self.framework.version(),
            "numpy": np.__version__,
            "mxnet distribution": _distribution(),
        }

    def features(self) -> dict[str, bool]:
        return {feature.name: bool(feature.enabled) for feature in mx.runtime.feature_list()}

    def large_tensor_limit(self) -> str:
        if self.features().get("INT64_TENSOR_SIZE", False):
            return ""
        return (
            f"this mxnet build ({mx.__version__}) has no INT64_TENSOR_SIZE; use a build that has "
            "it (2.0 does)"
        )


class _Processes(capabilities.Processes):
    has_own_threads: bool = os.environ.get("MXNET_ENGINE_TYPE") != "NaiveEngine"
    parts = PARTS

    def numerics(self) -> dict[str, str]:
        product = mx.nd.full((1,), SMALL) * mx.nd.full((1,), FACTOR)
        safe = os.environ.get("MXNET_SAFE_ACCUMULATION", "0")
        return {**denormals(float(product.asscalar())), "safe accumulation": safe}

    def seed(self, seed: int) -> None:
        mx.random.seed(seed)

    def supports_fork(self, device: str) -> bool:
        # CUDA cannot be used in a fork once its driver was called, and counting GPUs calls it.
        return device.startswith("cpu")


class _Profilers(capabilities.Profilers):
    def own(self) -> Mapping[str, ProfilerFactory]:
        return {"native": lambda device: trace.NativeProfiler()}


class MXNet(Framework):
    """The framework, for one process."""

    name = registry.FRAMEWORK
    rules = "opperf.rules.mxnet"
    dtypes: tuple[str, ...] = tensors.DTYPES
    capabilities = (
        *(_Naming, _Objects, _Queues, _DeviceMemory, _Arrays, _Modes, _Differentiation),
        *(_Recordings, _Inference, _Restoring, _BuildInfo, _Processes, _Profilers),
    )
    devices = staticmethod(devices)
    parse_device = staticmethod(parse)
    operators = staticmethod(registry.operators)
    function = staticmethod(functions.function_of)
    tensor = staticmethod(tensors.tensor)
    refusal = staticmethod(gradient.refusal)

    def __init__(self) -> None:
        super().__init__()
        user_operators.record_registrations()
        # Read now: each fork of this process would otherwise read it again.
        functions.operators_by_function()

    def version(self) -> str:
        return str(mx.__version__)

    def resolve(self, name: str) -> Operator | None:
        return registry.by_name().get(name)

    def signature(self, target: Target, function: Callable[..., Any] | None = None) -> Operator:
        return functions.signature(function or self.function(target))

    def bind(
        self, case: Case, arguments: CallArguments, function: Callable[..., Any] | None = None
    ) -> Callable[[], Any]:
        """Without the device as an argument an operator without inputs would use the CPU."""
        called = function if function is not None else self.function(case.target)
        if case.settings.mode == models.HYBRIDIZE:
            models.hybridize(called)
        bound = dict(arguments)
        operator = functions.operator_behind(called)
        if operator is not None and operator.parameter("ctx") and not operator.tensors:
            bound.setdefault("ctx", case.settings.device)
        if bound.get("dtype") == "bfloat16":
            bound["dtype"] = tensors.BFLOAT16
        return functions.bind(called, bound)

    @contextmanager
    def scope(self, case: Case) -> Iterator[None]:
        with ExitStack() as stack:
            stack.enter_context(context(case.settings.device))
            training = case.settings.phase == "train"
            stack.enter_context(
                mx.autograd.train_mode() if training else mx.autograd.predict_mode()
            )
            if any(spec.array_type == "np" for _, spec in case.tensors()) or (
                self.arrays.array_type(case.target) == "np"
            ):
                stack.enter_context(mx.util.np_shape(True))
                stack.enter_context(mx.util.np_array(True))
            yield

    def synchronize(self, device: str) -> None:
        mx.nd.waitall()


def _distribution() -> str:
    """Returns name and version of the distribution: CUDA builds have other names."""
    name = distribution_name("mxnet")
    return f"{name} {importlib.metadata.version(name)}" if name else "not installed as a package"
