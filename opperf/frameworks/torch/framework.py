"""PyTorch as opperf's `Framework`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

import torch

from opperf.errors import NoGradientError
from opperf.frameworks import call_capabilities, capabilities, paths
from opperf.frameworks.base import CallArguments, Constant, Gradient, Watched
from opperf.frameworks.capabilities import Framework
from opperf.frameworks.replays import CallSequence, Group, Replayed
from opperf.frameworks.torch import (
    bodies,
    chains,
    collectives,
    embedding_tables,
    functions,
    inference,
    messages,
    models,
    overloads,
    private,
    recorder,
    registry,
    replay,
    restoring,
    schemas,
    shared_memory,
    snippets,
    source,
    tensors,
    user_tensors,
)
from opperf.frameworks.torch import modes as execution
from opperf.frameworks.torch.devices import (
    DTYPES,
    devices,
    dtype_of,
    parse,
    skip_out_of_memory,
    synchronize,
    torch_device,
)
from opperf.frameworks.torch.gradient import FusedGradient, RecordedGradient, record_forward
from opperf.frameworks.torch.runtime import (
    TorchBuildInfo,
    TorchDeviceMemory,
    TorchProcesses,
    TorchProfilers,
    TorchQueues,
)
from opperf.model import (
    Argument,
    Case,
    Chain,
    Device,
    DType,
    Function,
    Generator,
    MemoryFormat,
    ModelTarget,
    Note,
    ObjectTarget,
    Operator,
    OperatorTarget,
    SnippetTarget,
    Target,
    TraceTarget,
)


class _Naming(capabilities.Naming):
    roots = functions.ROOTS
    importing = staticmethod(registry.importing)
    target_of = staticmethod(functions.target_of)
    callable_target = staticmethod(functions.target_at)

    def registered(self) -> int:
        return len(registry.registered_names())

    def function_paths(self) -> tuple[str, ...]:
        return paths.public_paths({place.path: place.module for place in registry.PLACES})

    def wrapped_operator(self, target: Target, called: Operator) -> Operator | None:
        return functions.wrapped(target)


class _Objects(capabilities.Objects):
    model = models.TorchModel

    def is_layer(self, function: Callable[..., Any]) -> bool:
        return isinstance(function, type) and issubclass(function, torch.nn.Module)

    def place_weights(self, built: Any, case: Case) -> Any:
        device = torch_device(case.settings.device)
        if isinstance(built, embedding_tables.SplitTableBatchedEmbeddingBagsCodegen):
            return built.on(device)
        if not isinstance(built, torch.nn.Module):
            return built
        dtype = dtype_of(case.settings.dtype)
        return built.to(device, dtype if dtype.is_floating_point else None)

    def parameter_names(self, target: Target) -> tuple[str, ...]:
        if isinstance(target, (OperatorTarget, SnippetTarget, TraceTarget, ModelTarget)):
            return ()
        found = self.framework.function(target)
        if not isinstance(found, torch.nn.Module):
            return ()
        return tuple(name for name, _ in found.named_parameters())


class _Arrays(call_capabilities.Arrays):
    memory_formats: tuple[str, ...] = ("channels_last", "channels_last_3d")
    view = staticmethod(tensors.view)
    describe = staticmethod(user_tensors.describe)
    copy_to_device = staticmethod(user_tensors.copy_to_device)
    memory_of = staticmethod(user_tensors.memory_of)
    has_nan = staticmethod(tensors.has_nan)
    extents = staticmethod(tensors.extents)
    contents = staticmethod(tensors.contents)
    shared = staticmethod(shared_memory.shared)
    address = staticmethod(shared_memory.address)
    write = staticmethod(user_tensors.write)

    def constant(self, value: Constant, device: str) -> Any:
        if isinstance(value, DType):
            return dtype_of(value.name)
        if isinstance(value, Device):
            return torch_device(value.name or device)
        if isinstance(value, MemoryFormat):
            return tensors.MEMORY_FORMATS[value.name]
        if isinstance(value, Generator):
            return torch.Generator(torch_device(device)).manual_seed(value.seed)
        if isinstance(value, Function):
            return bodies.function_at(value.path)
        return super().constant(value, device)

    def requires_gradient(self, value: Any) -> bool:
        return isinstance(value, torch.Tensor) and value.requires_grad


class _Modes(call_capabilities.Modes):
    names: tuple[str, ...] = tuple(execution.MODES)
    compiled: tuple[str, ...] = execution.COMPILED
    backends = staticmethod(execution.backends)
    obstacle = staticmethod(execution.obstacle)
    autocast_dtypes: tuple[str, ...] = execution.AUTOCAST_DTYPES
    build = staticmethod(snippets.build)

    def drawing_as_eager(self, mode: str) -> AbstractContextManager[None] | None:
        return execution.drawing_as_eager() if self.compiles(mode) else None

    def compilation(self, call: Callable[[], Any]) -> Mapping[str, float]:
        return execution.count()

    def removed_work(
        self, case: Case, call: Callable[[], Any], gradient: Callable[[], Gradient] | None
    ) -> list[Note]:
        # A version without dispatch modes has none of it.
        if not (private.MODE.find() and private.STORAGE.find()):
            return []
        from opperf.frameworks.torch import dead_code

        mode = case.settings.mode
        if mode == execution.SCRIPT and not isinstance(call, models.TorchModel):
            assert isinstance(call, execution.Traced)
            return dead_code.notes(call.eager, None, merges=True)
        if not self.compiles(mode) or execution.backend_of(mode) in execution.KEEPING:
            return []
        with execution.eagerly() as is_eager:
            fuses = execution.backend_of(mode) == execution.INDUCTOR
            return dead_code.notes(call, gradient, fuses) if is_eager else []


class _Differentiation(call_capabilities.Differentiation):
    framework: Framework

    supported = True

    def gradient(self, case: Case, call: Callable[[], Any], inputs: Sequence[Any]) -> Gradient:
        if case.settings.mode in execution.NO_BACKWARD:
            raise NoGradientError(execution.NO_BACKWARD[case.settings.mode])
        if isinstance(case.target, SnippetTarget):
            return snippets.gradient(case, call)
        made = FusedGradient if embedding_tables.is_fused(case.target) else RecordedGradient
        return made(call, inputs, case.settings.differentiated)

    def record_forward(self, case: Case, call: Callable[[], Any], inputs: Sequence[Any]) -> None:
        is_compiled = self.framework.modes.compiles(case.settings.mode)
        own = (SnippetTarget, TraceTarget, ModelTarget)
        if case.settings.phase == "train" and not isinstance(case.target, own):
            is_operator = isinstance(case.target, OperatorTarget)
            record_forward(call, inputs, tries=is_operator and not is_compiled)


def _bind_eagerly(case: Case, arguments: CallArguments, called: Callable[..., Any]) -> partial[Any]:
    if isinstance(called, torch.nn.Module):
        called.train(case.settings.phase == "train")
    return functions.bind(called, arguments, case.settings.device)


class _Recordings(call_capabilities.Recordings):
    framework: Framework

    recorder = recorder.TorchRecorder
    called = staticmethod(shared_memory.called)
    with_overload = staticmethod(overloads.with_overload)

    def chain_case(self, chain: Chain, cases: Mapping[str, Case]) -> Case:
        return chains.case_of(chain, cases, self.framework.arrays.constant)

    def source(self, case: Case, arguments: CallArguments, call: Callable[[], Any]) -> str:
        called = self.framework.function(case.target)
        if isinstance(case.target, ObjectTarget):
            called = self.framework.objects.place_weights(called, case)
        return source.script(case, arguments, _bind_eagerly(case, arguments, called))

    def replay(self, case: Case, sequence: CallSequence, group: Group | None = None) -> Replayed:
        return replay.Replay(self.framework, case, sequence, group)


class _Inference(call_capabilities.Inference):
    missing_kernel = staticmethod(registry.missing)
    output_shapes = staticmethod(inference.output_shapes)
    with_outputs = staticmethod(inference.with_outputs)
    foreseen_refusal = staticmethod(inference.foreseen_refusal)
    only_views = staticmethod(registry.only_views)

    def returning(self, operator: Operator) -> Operator | None:
        return registry.returning(operator) if schemas.OUT in operator.variants else None

    def fits_in_place(self, operator: Operator, arguments: Mapping[str, Argument]) -> bool:
        return schemas.IN_PLACE not in operator.variants or inference.fits_in_place(
            operator, arguments
        )


class _Restoring(call_capabilities.Restoring):
    framework: Framework

    keep = staticmethod(restoring.keep)
    write_numbers = staticmethod(restoring.write_numbers)

    def restore(
        self, case: Case, arguments: CallArguments, call: Callable[[], Any]
    ) -> Callable[[], object] | None:
        if isinstance(case.target, TraceTarget):
            before_ns = round(case.target.delay_ms * replay.NS_PER_MS)
            return partial(replay.pause, before_ns) if before_ns > 0 else None
        return restoring.restore(case.target, arguments)

    def watch(self, target: Target, value: Any, call: Callable[[], Any]) -> Watched | None:
        is_layer = isinstance(target, ObjectTarget) and target.path.split(".")[0] in functions.ROOTS
        return restoring.watch(target, value, is_layer or self.framework.naming.is_own(target))


class PyTorch(Framework):
    """The framework, for one process."""

    name = registry.FRAMEWORK
    rules = "opperf.rules.torch"
    dtypes: tuple[str, ...] = DTYPES
    capabilities = (
        *(_Naming, _Objects, TorchQueues, TorchDeviceMemory, _Arrays, _Modes, _Differentiation),
        *(_Recordings, _Inference, _Restoring, TorchBuildInfo, TorchProcesses, TorchProfilers),
    )
    devices = staticmethod(devices)
    parse_device = staticmethod(parse)
    synchronize = staticmethod(synchronize)
    operators = staticmethod(registry.operators)
    function = staticmethod(functions.function_of)
    tensor = staticmethod(tensors.tensor)
    refusal = staticmethod(messages.refusal)

    def __init__(self) -> None:
        super().__init__()
        # Read now: each fork of this process would otherwise read it again.
        registry.operators()

    def version(self) -> str:
        return str(torch.__version__)

    def resolve(self, name: str) -> Operator | None:
        return registry.measured(name)

    def signature(self, target: Target, function: Callable[..., Any] | None = None) -> Operator:
        if isinstance(target, (SnippetTarget, TraceTarget, ModelTarget)):
            return Operator(framework=self.name, namespace="", name=target.label)
        return functions.signature(target, function or self.function(target))

    def bind(
        self, case: Case, arguments: CallArguments, function: Callable[..., Any] | None = None
    ) -> Callable[[], Any]:
        if isinstance(case.target, SnippetTarget):
            return snippets.bind(case, arguments)
        call = _bind_eagerly(case, arguments, function or self.function(case.target))
        if collectives.is_collective(case.target):
            call = collectives.in_group(case, call)
        return execution.prepare(
            case.settings, call, is_user_code=not self.naming.is_own(case.target)
        )

    @contextmanager
    def scope(self, case: Case) -> Iterator[None]:
        """Seeds random numbers, sets the mode and mixed precision, suppresses warnings, as of
        functions in beta, and has a case for which the device has too little memory skipped."""
        torch.manual_seed(case.settings.seed)
        no_room = skip_out_of_memory(case.settings.device)
        with warnings.catch_warnings(), no_room, execution.scope(case):
            warnings.simplefilter("ignore")
            try:
                yield
            finally:
                collectives.leave()
