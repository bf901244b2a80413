"""PyTorch as opperf's `Framework`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

import torch

from opperf.errors import NoGradientError
from opperf.frameworks import paths
from opperf.frameworks.base import CallArguments, Constant, Gradient, Watched
from opperf.frameworks.capabilities import Framework
from opperf.frameworks.replays import CallSequence, Group, Replayed
from opperf.frameworks.timing import ProfilerFactory
from opperf.frameworks.torch import (
    bodies,
    chains,
    embedding_tables,
    flops,
    functions,
    inference,
    messages,
    models,
    options,
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
    xla,
)
from opperf.frameworks.torch import modes as execution
from opperf.frameworks.torch.devices import (
    DTYPES,
    cache_flush,
    devices,
    dtype_of,
    empty_kernel,
    event,
    free_memory,
    has_events,
    parse,
    ranges,
    skip_out_of_memory,
    synchronize,
    torch_device,
    uuid,
)
from opperf.frameworks.torch.gradient import FusedGradient, RecordedGradient, record_forward
from opperf.frameworks.torch.kineto import NativeProfiler, tracing
from opperf.frameworks.torch.memory import measure
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


class PyTorch(Framework):
    """The framework, for one process."""

    name = registry.FRAMEWORK
    rules = "opperf.rules.torch"
    dtypes: tuple[str, ...] = DTYPES
    memory_formats: tuple[str, ...] = ("channels_last", "channels_last_3d")
    modes: tuple[str, ...] = tuple(execution.MODES)
    compiled_modes: tuple[str, ...] = execution.COMPILED
    mode_backends = staticmethod(execution.backends)
    mode_obstacle = staticmethod(execution.obstacle)
    autocast_dtypes: tuple[str, ...] = execution.AUTOCAST_DTYPES
    # Folders of its compiler, which it would look in anyway.
    own_variables = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")
    private_names = private
    roots = functions.ROOTS
    gradients = True
    process_parts = options.PARTS

    devices = staticmethod(devices)
    parse_device = staticmethod(parse)
    missing_kernel = staticmethod(registry.missing)
    device_memory = staticmethod(free_memory)
    synchronize = staticmethod(synchronize)
    uuid = staticmethod(uuid)
    empty_kernel = staticmethod(empty_kernel)
    operators = staticmethod(registry.operators)
    importing = staticmethod(registry.importing)
    target_of = staticmethod(functions.target_of)
    callable_target = staticmethod(functions.target_at)
    function = staticmethod(functions.function_of)
    tensor = staticmethod(tensors.tensor)
    view = staticmethod(tensors.view)
    describe = staticmethod(user_tensors.describe)
    copy_to_device = staticmethod(user_tensors.copy_to_device)
    memory_of = staticmethod(user_tensors.memory_of)
    output_shapes = staticmethod(inference.output_shapes)
    with_outputs = staticmethod(inference.with_outputs)
    foreseen_refusal = staticmethod(inference.foreseen_refusal)
    tracing = staticmethod(tracing)
    recorder = recorder.TorchRecorder
    has_events = staticmethod(has_events)
    event = staticmethod(event)
    ranges = staticmethod(ranges)
    cache_flush = staticmethod(cache_flush)
    memory = staticmethod(measure)
    option = staticmethod(options.option)
    numerics = staticmethod(options.numerics)
    has_nan = staticmethod(tensors.has_nan)
    call_flops = staticmethod(flops.call_flops)
    counting = staticmethod(flops.counting)
    threads = staticmethod(torch.get_num_threads)
    extents = staticmethod(tensors.extents)
    keep = staticmethod(restoring.keep)
    write_numbers = staticmethod(restoring.write_numbers)
    contents = staticmethod(tensors.contents)
    shared = staticmethod(shared_memory.shared)
    address = staticmethod(shared_memory.address)
    called = staticmethod(shared_memory.called)
    write = staticmethod(user_tensors.write)
    build = staticmethod(snippets.build)
    model = models.TorchModel
    with_overload = staticmethod(overloads.with_overload)
    only_views = staticmethod(registry.only_views)
    refusal = staticmethod(messages.refusal)
    unavailable = messages.UNAVAILABLE

    def __init__(self) -> None:
        # Read now: each fork of this process would otherwise read it again.
        registry.operators()

    def version(self) -> str:
        return str(torch.__version__)

    def versions(self) -> dict[str, str]:
        found = {"torch": self.version(), "cuda": torch.version.cuda or ""}
        if torch.backends.cudnn.is_available():
            found["cudnn"] = str(torch.backends.cudnn.version())
        return {name: version for name, version in found.items() if version}

    def features(self) -> dict[str, bool]:
        level = torch.backends.cpu.get_cpu_capability()
        return {
            "cuda": torch.backends.cuda.is_built(),
            "mkldnn": torch.backends.mkldnn.is_available(),
            "mkl": torch.backends.mkl.is_available(),
            "openmp": torch.backends.openmp.is_available(),
            f"capability {level}": True,
        }

    def commit(self) -> str:
        return str(torch.version.git_version or "")

    def seed(self, seed: int) -> None:
        if len(devices()) > 1:
            torch.manual_seed(seed)
        else:
            # That formats the stack for each kind of device that might be initialised later.
            torch.default_generator.manual_seed(seed)

    def random_state(self, device: str) -> object:
        states = [torch.get_rng_state()]
        kind = torch_device(device).type
        if kind not in ("cpu", "meta"):
            states.append(torch.get_device_module(kind).get_rng_state(torch_device(device)))
        return [state.tolist() for state in states]

    def drawing_as_eager(self, mode: str) -> AbstractContextManager[None] | None:
        return execution.drawing_as_eager() if self.compiles(mode) else None

    def has_queue(self, device: str) -> bool:
        return not device.startswith("cpu") or xla.is_in_use()

    def is_asynchronous(self, device: str) -> bool:
        return not device.startswith("cpu")

    # cuBLAS has one workspace for all calls of a process.
    keeps_workspace = is_asynchronous

    def registered(self) -> int:
        return len(registry.registered_names())

    def resolve(self, name: str) -> Operator | None:
        found = registry.find(name)
        return None if found is None else found.operator

    def function_paths(self) -> tuple[str, ...]:
        return paths.public_paths({place.path: place.module for place in registry.PLACES})

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

    def signature(self, target: Target, function: Callable[..., Any] | None = None) -> Operator:
        if isinstance(target, (SnippetTarget, TraceTarget, ModelTarget)):
            return Operator(framework=self.name, namespace="", name=target.label)
        return functions.signature(target, function or self.function(target))

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

    def wrapped_operator(self, target: Target, called: Operator) -> Operator | None:
        return functions.wrapped(target)

    def requires_gradient(self, value: Any) -> bool:
        return isinstance(value, torch.Tensor) and value.requires_grad

    def bind(
        self, case: Case, arguments: CallArguments, function: Callable[..., Any] | None = None
    ) -> Callable[[], Any]:
        if isinstance(case.target, SnippetTarget):
            return snippets.bind(case, arguments)
        call = self._bind_eagerly(case, arguments, function or self.function(case.target))
        return execution.prepare(case.settings, call, is_user_code=not self.is_own(case.target))

    def _bind_eagerly(
        self, case: Case, arguments: CallArguments, called: Callable[..., Any]
    ) -> partial[Any]:
        if isinstance(called, torch.nn.Module):
            called.train(case.settings.phase == "train")
        return functions.bind(called, arguments, case.settings.device)

    def returning(self, operator: Operator) -> Operator | None:
        return registry.returning(operator) if schemas.OUT in operator.variants else None

    def fits_in_place(self, operator: Operator, arguments: Mapping[str, Argument]) -> bool:
        return schemas.IN_PLACE not in operator.variants or inference.fits_in_place(
            operator, arguments
        )

    def chain_case(self, chain: Chain, cases: Mapping[str, Case]) -> Case:
        return chains.case_of(chain, cases, self.constant)

    def source(self, case: Case, arguments: CallArguments, call: Callable[[], Any]) -> str:
        called = self.function(case.target)
        if isinstance(case.target, ObjectTarget):
            called = self.place_weights(called, case)
        return source.script(case, arguments, self._bind_eagerly(case, arguments, called))

    @contextmanager
    def scope(self, case: Case) -> Iterator[None]:
        """Seeds random numbers, sets the mode and mixed precision, suppresses warnings, as of
        functions in beta, and has a case for which the device has too little memory skipped."""
        torch.manual_seed(case.settings.seed)
        no_room = skip_out_of_memory(case.settings.device)
        with warnings.catch_warnings(), no_room, execution.scope(case):
            warnings.simplefilter("ignore")
            yield

    def profilers(self) -> Mapping[str, ProfilerFactory]:
        return {"native": NativeProfiler}

    def supports_fork(self, device: str) -> bool:
        # OpenMP's threads, which the first parallel operator starts, are not in a fork: it would
        # wait for them without end. CUDA cannot be used in a fork once its driver was called.
        return device.startswith("cpu")

    def prepare_forks(self, rehearsed: bool) -> None:
        if rehearsed:
            private.import_early(private.OF_GRADIENTS)
            return
        private.import_early(private.OF_TENSORS)
        # Its first inference of a shape takes longer than the others, too.
        torch.add(*[torch.empty(1, device=tensors.META)] * 2)

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

    def gradient(self, case: Case, call: Callable[[], Any], inputs: Sequence[Any]) -> Gradient:
        if case.settings.mode in execution.NO_BACKWARD:
            raise NoGradientError(execution.NO_BACKWARD[case.settings.mode])
        if isinstance(case.target, SnippetTarget):
            return snippets.gradient(case, call)
        made = FusedGradient if embedding_tables.is_fused(case.target) else RecordedGradient
        return made(call, inputs, case.settings.differentiated)

    def parameter_names(self, target: Target) -> tuple[str, ...]:
        if isinstance(target, (OperatorTarget, SnippetTarget, TraceTarget, ModelTarget)):
            return ()
        found = self.function(target)
        if not isinstance(found, torch.nn.Module):
            return ()
        return tuple(name for name, _ in found.named_parameters())

    def record_forward(self, case: Case, call: Callable[[], Any], inputs: Sequence[Any]) -> None:
        is_compiled = self.compiles(case.settings.mode)
        own = (SnippetTarget, TraceTarget, ModelTarget)
        if case.settings.phase == "train" and not isinstance(case.target, own):
            is_operator = isinstance(case.target, OperatorTarget)
            record_forward(call, inputs, tries=is_operator and not is_compiled)

    def replay(self, case: Case, sequence: CallSequence, group: Group | None = None) -> Replayed:
        return replay.Replay(self, case, sequence, group)

    def restore(
        self, case: Case, arguments: CallArguments, call: Callable[[], Any]
    ) -> Callable[[], object] | None:
        if isinstance(case.target, TraceTarget):
            before_ns = round(case.target.delay_ms * replay.NS_PER_MS)
            return partial(replay.pause, before_ns) if before_ns > 0 else None
        return restoring.restore(case.target, arguments)

    def watch(self, target: Target, value: Any, call: Callable[[], Any]) -> Watched | None:
        is_layer = isinstance(target, ObjectTarget) and target.path.split(".")[0] in functions.ROOTS
        return restoring.watch(target, value, is_layer or self.is_own(target))

    def set_threads(self, count: int) -> None:
        torch.set_num_threads(count)
