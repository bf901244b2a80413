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
from opperf.frameworks import paths, user_code
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
        return set(built(**dict.fromkeys(required, 1))._reg_params)
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


class MXNet(Framework):
    """The framework, for one process."""

    name = registry.FRAMEWORK
    has_own_threads: bool = os.environ.get("MXNET_ENGINE_TYPE") != "NaiveEngine"
    rules = "opperf.rules.mxnet"
    dtypes: tuple[str, ...] = tensors.DTYPES

    private_names = private
    gradients: bool = True
    process_parts = PARTS
    modes: tuple[str, ...] = ("eager", models.HYBRIDIZE)
    compiled_modes: tuple[str, ...] = (models.HYBRIDIZE,)

    devices = staticmethod(devices)
    parse_device = staticmethod(parse)
    device_memory = staticmethod(free_memory)
    operators = staticmethod(registry.operators)
    target_of = staticmethod(functions.target_of)
    constructor = staticmethod(functions.constructor_of)
    call_parameters = staticmethod(call_parameters)
    function = staticmethod(functions.function_of)
    tensor = staticmethod(tensors.tensor)
    describe = staticmethod(tensors.describe)
    copy_to_device = staticmethod(tensors.copy_to_device)
    with_inferred_shapes = staticmethod(inference.complete_shapes)
    source = staticmethod(source.script)
    recorder = recorder.MXNetRecorder
    model = models.MXNetModel
    keep = staticmethod(tensors.keep)
    write_numbers = staticmethod(tensors.write_numbers)
    extents = staticmethod(tensors.extents)
    contents = staticmethod(tensors.contents)
    narrowed = staticmethod(tensors.narrowed)
    refusal = staticmethod(gradient.refusal)
    unavailable = gradient.UNAVAILABLE

    def __init__(self) -> None:
        user_operators.record_registrations()
        # Read now: each fork of this process would otherwise read it again.
        functions.operators_by_function()

    def version(self) -> str:
        return str(mx.__version__)

    def numerics(self) -> dict[str, str]:
        product = mx.nd.full((1,), SMALL) * mx.nd.full((1,), FACTOR)
        safe = os.environ.get("MXNET_SAFE_ACCUMULATION", "0")
        return {**denormals(float(product.asscalar())), "safe accumulation": safe}

    def versions(self) -> dict[str, str]:
        return {
            "mxnet": self.version(),
            "numpy": np.__version__,
            "mxnet distribution": _distribution(),
        }

    def features(self) -> dict[str, bool]:
        return {feature.name: bool(feature.enabled) for feature in mx.runtime.feature_list()}

    def seed(self, seed: int) -> None:
        mx.random.seed(seed)

    def registered(self) -> int:
        return len(registry.registered())

    def large_tensor_limit(self) -> str:
        if self.features().get("INT64_TENSOR_SIZE", False):
            return ""
        return (
            f"this mxnet build ({self.version()}) has no INT64_TENSOR_SIZE; use a build that has "
            "it (2.0 does)"
        )

    def resolve(self, name: str) -> Operator | None:
        return registry.by_name().get(name)

    def callable_target(self, path: str) -> Target:
        target = user_code.target_at(self.name, path)
        target = target or CallableTarget(framework=self.name, path=path)
        functions.function_of(target)
        return target

    def function_paths(self) -> tuple[str, ...]:
        return paths.public_paths(PATHS)

    def signature(self, target: Target, function: Callable[..., Any] | None = None) -> Operator:
        return functions.signature(function or self.function(target))

    def wrapped_operator(self, target: Target, called: Operator) -> Operator | None:
        target = functions.canonical_target(target)
        if functions.is_fallback(target):
            return None
        return registry.wrapped_operator(target, called)

    def place(self, target: Target) -> str:
        return registry.place_of(functions.canonical_target(target))

    def is_layer(self, function: Callable[..., Any]) -> bool:
        return isinstance(function, type) and issubclass(function, mx.gluon.Block)

    def place_weights(self, built: Any, case: Case) -> Any:
        if isinstance(built, mx.gluon.Block):
            built.initialize(ctx=context(case.settings.device))
            built.cast(case.settings.dtype)
        return built

    def notes(self, target: Target) -> tuple[Note, ...]:
        if functions.is_fallback(target):
            return (Note("", NoteCode.FALLBACK, FALLBACK),)
        return ()

    def namespaces_with(self, namespace: str) -> tuple[str, ...]:
        # Neural networks of arrays of `np` are in the other.
        return ("np", "npx") if namespace == "np" else (namespace,)

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

    def removed_work(
        self, case: Case, call: Callable[[], Any], gradient: Callable[[], Gradient] | None
    ) -> list[Note]:
        return dead_code.notes(call)

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

    @contextmanager
    def scope(self, case: Case) -> Iterator[None]:
        with ExitStack() as stack:
            stack.enter_context(context(case.settings.device))
            training = case.settings.phase == "train"
            stack.enter_context(
                mx.autograd.train_mode() if training else mx.autograd.predict_mode()
            )
            if any(spec.array_type == "np" for _, spec in case.tensors()) or (
                self.array_type(case.target) == "np"
            ):
                stack.enter_context(mx.util.np_shape(True))
                stack.enter_context(mx.util.np_array(True))
            yield

    def has_nan(self, outputs: Any) -> bool:
        return any(tensors.has_nan(array) for array in flatten(outputs))

    def gradient(self, case: Case, call: Callable[[], Any], inputs: Sequence[Any]) -> Gradient:
        return RecordedGradient(
            call,
            inputs,
            case.settings.phase == "train",
            case.settings.device,
            [spec.gradient_layout for _, spec in case.tensors() if spec.gradient],
        )

    def watch(self, target: Target, value: Any, call: Callable[[], Any]) -> Watched | None:
        return None if self.is_own(target) else tensors.watch(value)

    def synchronize(self, device: str) -> None:
        mx.nd.waitall()

    def is_asynchronous(self, device: str) -> bool:
        # The engine queues calls on the CPU as well, but there synchronising while idle takes a
        # third of a microsecond, and calls that are queued together may run in parallel.
        return device.startswith("gpu")

    def supports_fork(self, device: str) -> bool:
        # CUDA cannot be used in a fork once its driver was called, and counting GPUs calls it.
        return device.startswith("cpu")

    def memory(self, device: str) -> AbstractContextManager[MemoryReading]:
        return trace.MemoryMeter(device).measure()

    def profilers(self) -> Mapping[str, ProfilerFactory]:
        return {"native": lambda device: trace.NativeProfiler()}


def _distribution() -> str:
    """Returns name and version of the distribution: CUDA builds have other names."""
    name = distribution_name("mxnet")
    return f"{name} {importlib.metadata.version(name)}" if name else "not installed as a package"
