"""The names of PyTorch that opperf uses and that are no public API. The dispatcher's table, the
profiler's raw events and the compiler's counters have no public interface, or a slow one."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import methodcaller
from typing import Any, TypeGuard

import torch

from opperf.frameworks.installed import PrivateName

PROFILER = "the profiler native and the memory of calls on a CPU"
COMPILER = "the mode compile"

# The registry. Without these nothing can be listed.
DISPATCHED_NAMES = PrivateName("the list of operators", "torch._C:_dispatch_get_all_op_names")
OVERLOAD = PrivateName("the list of operators", "torch._ops:OpOverload")
PACKET = PrivateName("the list of operators", "torch._ops:OpOverloadPacket")
HAS_KERNEL = PrivateName(
    "the reason for an operator without a kernel, which is else that of its call",
    "torch._C:_dispatch_has_kernel_for_dispatch_key",
)

# The profiler. `torch.profiler` builds a Python object of each event, in some tens of microseconds.
PREPARE_PROFILER = PrivateName(PROFILER, "torch._C._autograd:_prepare_profiler")
ENABLE_PROFILER = PrivateName(PROFILER, "torch._C._autograd:_enable_profiler")
DISABLE_PROFILER = PrivateName(PROFILER, "torch._C._autograd:_disable_profiler")
PROFILER_CONFIG = PrivateName(PROFILER, "torch._C._profiler:ProfilerConfig")
PROFILER_STATE = PrivateName(PROFILER, "torch._C._profiler:ProfilerState")
EXPERIMENTAL_CONFIG = PrivateName(PROFILER, "torch._C._profiler:_ExperimentalConfig")
RECORD_FUNCTION = PrivateName(PROFILER, "torch._C._profiler:_RecordFunctionFast")
ENABLE_RECORDING = PrivateName(PROFILER, "torch._C._autograd:_enable_record_function")
ALLOCATION = PrivateName(PROFILER, "torch._C._profiler:_ExtraFields_Allocation")
ACTIVITY_TYPE = PrivateName(
    "the kinds of the profiler's events, told by their devices where it is missing",
    "torch._C._autograd:_KinetoEvent.activity_type",
)

# The recorder. The numbers of autograd's nodes tie a backward call to the forward one.
RECORDER = "recording a program"
CURRENT_NODE = PrivateName(RECORDER, "torch._C:_current_autograd_node")
SEQUENCE_NUMBER = PrivateName(RECORDER, "torch._C._autograd:_get_sequence_nr")
MODE = PrivateName(RECORDER, "torch.utils._python_dispatch:TorchDispatchMode")
DISPATCH_MODE = PrivateName(RECORDER, "torch.utils._python_dispatch:_get_current_dispatch_mode")
COMPILED_PROGRAM = PrivateName(
    "compiled programs in a recording", "torch._inductor.output_code:CompiledFxGraph"
)

# The flow of tensors. A reference to a tensor would be to one of the views of a storage.
STORAGE = PrivateName(
    "notes on work that reaches no result, and chains of calls in a recording",
    "torch.multiprocessing.reductions:StorageWeakRef",
)

# The compiler, which takes a second to import.
COMPILER_CONFIG = PrivateName(COMPILER, "torch._inductor:config")
COMPILER_ERROR = PrivateName(COMPILER, "torch._dynamo.exc:TorchDynamoException")
COUNTERS = PrivateName(COMPILER, "torch._dynamo.utils:counters")
CLEAR_METRICS = PrivateName(COMPILER, "torch._dynamo.utils:clear_compilation_metrics")
METRICS = PrivateName(COMPILER, "torch._dynamo.utils:get_compilation_metrics")
EXPLAIN = PrivateName(COMPILER, "torch._dynamo:explain")
EAGER_RANDOM = PrivateName(
    "verification of compiled code that draws random numbers",
    "torch._inductor.config:fallback_random",
)
FRESH_CACHE = PrivateName(
    "a cold cache of compiled code",
    "torch._inductor.utils:fresh_cache",
    # Below 2.8.
    "torch._inductor.utils:fresh_inductor_cache",
)

# Trees of arguments, which `torch.utils` has without an underscore in no version.
FLATTEN = PrivateName("the modes script and graph", "torch.utils._pytree:tree_flatten")
UNFLATTEN = PrivateName("the modes script and graph", "torch.utils._pytree:tree_unflatten")

# Tensors.
MKLDNN = PrivateName("tensors in oneDNN's layout", "torch:_mkldnn")
VERSION = PrivateName("arguments that a call writes to", "torch:Tensor._version")
IS_ZERO = PrivateName("gradients without elements in memory", "torch:Tensor._is_zerotensor")
INDICES = PrivateName("sparse tensors that store a place twice", "torch:Tensor._indices")
VALUES = PrivateName("sparse tensors that store a place twice", "torch:Tensor._values")

OF_TENSORS = ("sympy", "torch._dynamo", "torch._inductor", "torch._refs", "torch.testing")
"""Modules, a second together, that PyTorch imports at the first shape or sparse tensor."""
OF_GRADIENTS = ("torch.fx.experimental.symbolic_shapes",)
"""That which it imports at the first backward pass, in half a second."""
OF_MODES = ("torch._dynamo",)
"""That which it imports at the first call in a dispatch mode, in a second."""


def import_early(modules: tuple[str, ...]) -> None:
    """Imports those that this version has. One that it lacks would only have saved time."""
    for name in modules:
        with contextlib.suppress(ModuleNotFoundError):
            importlib.import_module(name)


def is_overload(function: Any) -> TypeGuard[torch._ops.OpOverload[..., Any]]:
    """Whether a callable is an overload of an operator."""
    return isinstance(function, OVERLOAD.get())


def schema_of(overload: Any) -> Any:
    """Returns the schema of an overload: PyTorch shows it publicly as text only."""
    return overload._schema


def version_of(tensor: torch.Tensor) -> int:
    """Returns how often a tensor and its views have been written to."""
    return int(VERSION.get().__get__(tensor))


def dispatched_name(packet: Any) -> str:
    """Returns the name of an operator with all its overloads, as `aten::add`."""
    return str(packet._qualified_op_name)


def number_of(node: Any) -> int:
    """Returns the number of a node of autograd."""
    return int(node._sequence_nr())


def count_stored(tensor: Any) -> int:
    """Returns how many elements a sparse tensor stores, coalesced or not."""
    return int(tensor._nnz())


def key_of(storage: Any) -> int:
    """Returns what all references to a storage have in common. Raises as `untyped_storage`."""
    return int(storage._cdata)


def variable_of(node: Any) -> Any:
    """Returns the parameter to whose gradient a node adds; None for any other node."""
    return getattr(node, "variable", None)


def names_of(program: Any) -> dict[str, Any]:
    """Returns the names of the module of a compiled program's code; none if it has no such."""
    code = getattr(program, "current_callable", None)
    found: dict[str, Any] = getattr(getattr(code, "__func__", code), "__globals__", {})
    return found


def recompilation_reasons() -> list[str] | None:
    """Returns why the compiler compiled again each time; None where it does not tell (2.5)."""
    reasons = [getattr(metrics, "recompile_reason", "") for metrics in METRICS.get()()]
    return None if "" in reasons else [reason for reason in reasons if reason is not None]


@contextmanager
def compiled_events() -> Iterator[None]:
    """Within it, compiled code makes events: it looks at a variable of `torch.profiler`."""
    from torch.autograd import profiler

    profiler._is_profiler_enabled = True
    try:
        yield
    finally:
        profiler._is_profiler_enabled = False


def kind_of_events() -> Callable[[Any], str]:
    """Returns a function that returns the kind of a profiler's event."""
    return methodcaller("activity_type") if ACTIVITY_TYPE.find() else _kind_by_device


def _kind_by_device(event: Any) -> str:
    """Returns the kind of an event by its device, where events do not tell (2.5)."""
    if event.device_type() == torch.profiler.DeviceType.CPU:
        return "cpu_op"
    return "gpu_user_annotation" if event.is_user_annotation() else "kernel"
