"""Execution modes of a bound call. The compiler is imported in functions, as that takes a
second."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import torch

from opperf.errors import UnsupportedError
from opperf.frameworks.torch import COUNTERS_FILE, devices, private, xla
from opperf.frameworks.torch.messages import refusal
from opperf.model import Case, OperatorTarget, Settings, SnippetTarget

THREADS_VARIABLE = "TORCHINDUCTOR_COMPILE_THREADS"
"""Environment variable of the number of processes that compile."""

EXPECTED = ("requires_grad mismatch", "grad_mode")
"""Reasons of recompilations that are of the measurement: the backward pass has a program of its
own, which records, and so is the second one of the same function."""


CACHE_COUNTERS = "inductor"
NOT_CACHED = ("fxgraph_cache_miss", "fxgraph_cache_bypass")
"""The compiler's counters of graphs that its cache did not have, or that it cannot keep."""


INDUCTOR = "inductor"
"""The compiler's back end where none is named."""


def backend_of(mode: str) -> str:
    """Returns the back end of a mode that compiles."""
    return mode.partition(":")[2] or INDUCTOR


KEEPING = frozenset({"eager", "eager_debug", "eager_noexcept", "pre_dispatch_eager"})
"""Back ends that run a graph as it was captured, with what reaches none of its results."""


@contextmanager
def eagerly() -> Iterator[bool]:
    """Returns a context in which what was compiled runs in eager mode, and whether it does."""
    set_stance = getattr(torch.compiler, "set_stance", None)
    # A version below 2.6 has none.
    with nullcontext() if set_stance is None else set_stance("force_eager"):
        yield set_stance is not None


def backends(mode: str) -> tuple[str, ...]:
    """Returns the names of the back ends of a mode, which takes a second."""
    return tuple(torch.compiler.list_backends(exclude_tags=())) if mode in COMPILED else ()


def obstacle(mode: str) -> str:
    """Returns why this environment cannot run a mode; empty if it can."""
    if xla.is_mode(mode):
        found = xla.obstacle()
        return found and f"mode {mode}: {found}"
    base, _, backend = mode.partition(":")
    # Inductor compiles in seconds, and says itself what it lacks.
    if base not in COMPILED or backend in ("", INDUCTOR):
        return ""
    return _start(backend)


@functools.cache
def _start(backend: str = INDUCTOR) -> str:
    """Compiles a first function, so that what the compiler does once in a process, as finding the
    processor's instructions, is in no case's time. Returns why it cannot; empty if it can."""
    if xla.is_mode(f":{backend}"):
        # The function would be computed by XLA, which has a device of its own.
        return xla.obstacle()
    if THREADS_VARIABLE not in os.environ:
        # In this process: others would take memory, and cores from the calls that are timed.
        private.COMPILER_CONFIG.get().compile_threads = 1
    try:
        torch.compile(lambda x: x + 1, backend=backend)(torch.zeros(8))
    except Exception as error:
        return _reason(error)
    return ""


def _reason(error: BaseException) -> str:
    text = refusal(error) or f"{type(error).__name__}: {error}"
    if "InvalidCxxCompiler" in text:
        return (
            "torch.compile needs a C++ compiler, and finds none; install g++, or set the "
            "environment variable CXX to the path of one"
        )
    return f"torch.compile: {text}"


@contextmanager
def compile_scope(is_cold: bool, backend: str = INDUCTOR) -> Iterator[None]:
    """Returns a context in which cases are compiled anew, with an empty cache of code if `is_cold`.
    Raises `UnsupportedError` in place of what the compiler raises, and if it does not work here."""
    lacking = _start(backend)
    if lacking:
        raise UnsupportedError(lacking)
    failure: Exception | None = None
    # Programs of earlier cases count towards the limit of recompilations.
    torch.compiler.reset()
    private.CLEAR_METRICS.get()()
    private.COUNTERS.get().pop(CACHE_COUNTERS, None)
    try:
        with private.FRESH_CACHE.get()() if is_cold else nullcontext():
            try:
                yield
            except private.COMPILER_ERROR.get() as error:
                # The folder of the cache would be kept for an error that passes here.
                failure = error
    finally:
        _WITH_BREAKS.clear()
        torch.compiler.reset()
    if failure is not None:
        raise UnsupportedError(_reason(failure)) from failure


_WITH_BREAKS: list[partial[Any]] = []
"""The latest call of this process's case that may have graph breaks, if it has one."""


_whole_graphs: list[bool] = []
"""Whether what has graph breaks is refused in this process."""


def set_whole_graphs(value: bool) -> None:
    """Has code of a user's compiled as one graph, or in several where the compiler cannot."""
    _whole_graphs[:] = [value]


def compiled(call: partial[Any], whole: bool, backend: str = INDUCTOR) -> Callable[[], Any]:
    """Returns the call, compiled by a back end when it is first called; as one graph if `whole`."""
    whole = whole or any(_whole_graphs)
    function = call.func
    if not isinstance(function, torch.nn.Module):
        function = _python_function(function)
    if not whole:
        _WITH_BREAKS[:] = [partial(function, *call.args, **call.keywords)]
    made = torch.compile(function, fullgraph=whole, dynamic=False, backend=backend)
    return partial(made, *call.args, **call.keywords)


def _python_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function whose code can be compiled, for one that may be written in C++."""

    def call(*unnamed: Any, **named: Any) -> Any:
        return function(*unnamed, **named)

    return call


def count() -> dict[str, int]:
    """Returns the latest case's graph breaks, its graphs that were not in the cache of code, and,
    if the compiler tells, its recompilations for another reason than to record gradients."""
    counters, explain = private.COUNTERS.get(), private.EXPLAIN.get()
    misses = sum(counters[CACHE_COUNTERS][name] for name in NOT_CACHED)
    reasons = private.recompilation_reasons()
    breaks = [
        explain(call.func)(*call.args, **call.keywords).graph_break_count for call in _WITH_BREAKS
    ]
    counts = {"graph_breaks": sum(breaks), "compile_cache_misses": misses}
    if reasons is not None:
        again = [reason for reason in reasons if not any(words in reason for words in EXPECTED)]
        counts["recompilations"] = len(again)
    file = os.environ.get(COUNTERS_FILE)
    if file:
        found = {name: dict(own) for name, own in counters.items()}
        Path(file).write_text(json.dumps(found, indent=2, default=str))
    return counts


@contextmanager
def drawing_as_eager() -> Iterator[None]:
    """Returns a context in which the compiler calls eager mode's generators of random numbers, and
    has forgotten what it has compiled."""
    config = private.COMPILER_CONFIG.get()
    if not isinstance(private.EAGER_RANDOM.find(), bool):
        # A version without the option draws as eager mode, or is found to differ.
        yield
        return
    before, config.fallback_random = config.fallback_random, True
    torch.compiler.reset()
    try:
        yield
    finally:
        config.fallback_random = before
        torch.compiler.reset()


AUTOCAST_DTYPES = ("bfloat16", "float16")
"""Dtypes of automatic mixed precision, on CPUs and on GPUs."""

CAPTURE_WARMUP = 3
"""Calls before a CUDA graph is captured, as many as in PyTorch's examples: libraries allocate
workspace and choose kernels in them, which they cannot do during a capture."""


def prepare(settings: Settings, call: partial[Any], is_user_code: bool) -> Callable[[], Any]:
    """Returns the call as a mode runs it; in eager mode the call itself, without overhead. Code of
    a user's may have graph breaks. Raises `UnsupportedError` if the mode cannot run it."""
    base, _, backend = settings.mode.partition(":")
    if backend:
        made = compiled(call, whole=not is_user_code, backend=backend)
        return xla.in_steps(made) if xla.is_mode(settings.mode) else made
    return MODES[base](call, settings.device, is_user_code)


class _OfTensors(torch.nn.Module):
    """A function of the tensors of a call, in their order. A module, as the parameters of one that
    is called are then its own, and not constants."""

    def __init__(self, call: partial[Any]) -> None:
        super().__init__()
        leaves, self._structure = private.FLATTEN.get()((call.args, call.keywords))
        self._unflatten = private.UNFLATTEN.get()
        self._function = call.func
        self._places = [i for i, one in enumerate(leaves) if isinstance(one, torch.Tensor)]
        self.tensors = [leaves[place] for place in self._places]
        self._leaves = [None if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]

    def forward(self, *tensors: torch.Tensor) -> Any:
        leaves = list(self._leaves)
        for place, one in zip(self._places, tensors, strict=True):
            leaves[place] = one
        unnamed, named = self._unflatten(leaves, self._structure)
        return self._function(*unnamed, **named)


class Traced(partial[Any]):
    """The call of a TorchScript program."""

    eager: partial[Any]
    """The call of which it was traced."""


def _trace(call: partial[Any]) -> Traced:
    """Returns the call as a TorchScript program, by tracing it: a script of Python code would need
    the code of functions that have none."""
    traced = _OfTensors(call)
    # A function's program is called with less overhead than a module's.
    function = traced if isinstance(call.func, torch.nn.Module) else traced.forward
    # Copies, as tracing runs the call, which may write to its inputs.
    copies = tuple(tensor.detach().clone() for tensor in traced.tensors)
    try:
        program = torch.jit.trace(function, copies, check_trace=False, strict=False)
    except Exception as error:
        reason = refusal(error)
        if reason is None:
            raise
        raise UnsupportedError(f"TorchScript does not trace it: {reason}") from error
    made = Traced(program, *traced.tensors)
    made.eager = call
    return made


def _capture(call: partial[Any], name: str) -> Callable[[], Any]:
    """Returns the replay of a CUDA graph of the call, with its results in the same memory."""
    device = devices.torch_device(name)
    if device.type != "cuda":
        raise UnsupportedError(f"mode graph needs a GPU, and {name} is none; use --ctx gpu")
    try:
        with torch.cuda.device(device):
            graph, outputs = _captured(call)
    except RuntimeError as error:
        raise UnsupportedError(f"no CUDA graph can be captured of it: {refusal(error)}") from error

    def replay() -> Any:
        graph.replay()
        return outputs

    return replay


def _captured(call: Callable[[], Any]) -> tuple[torch.cuda.CUDAGraph, Any]:
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(CAPTURE_WARMUP):
            call()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        outputs = call()
    return graph, outputs


SCRIPT = "script"

MODES: Mapping[str, Callable[[partial[Any], str, bool], Callable[[], Any]]] = {
    "eager": lambda call, device, is_user_code: call,
    # Its tensors are inputs, and its plain values constants.
    "compile": lambda call, device, is_user_code: compiled(call, whole=not is_user_code),
    SCRIPT: lambda call, device, is_user_code: _trace(call),
    "graph": lambda call, device, is_user_code: _capture(call, device),
    xla.MODE: lambda call, device, is_user_code: xla.in_steps(call),
}
"""Functions that prepare a call on a device, and of a user's code, by mode, the default first."""

COMPILED = ("compile",)
"""Modes that compile at the first call."""

NO_BACKWARD = {"graph": "a CUDA graph is captured of the forward pass alone"}
"""Modes without gradients, each with the reason."""


@contextmanager
def scope(case: Case) -> Iterator[None]:
    """Returns a context of a case's mode, mixed precision and phase. Raises as `compile_scope`."""
    mode, is_cold = case.settings.mode, case.settings.compile_cache == "cold"
    compiling = mode.partition(":")[0] in COMPILED
    with (
        compile_scope(is_cold, backend_of(mode)) if compiling else nullcontext(),
        xla.scope(mode),
        _autocast(case),
        torch.no_grad() if predicts(case) else nullcontext(),
    ):
        yield


def predicts(case: Case) -> bool:
    """Whether a case runs without gradients, as inference: a module or function of which the
    forward pass alone is measured, in the phase that predicts. An operator has no parameters whose
    gradients would be recorded, and a snippet decides by its own code."""
    is_other = isinstance(case.target, (OperatorTarget, SnippetTarget))
    return case.settings.phase == "predict" and "backward" not in case.passes and not is_other


def _autocast(case: Case) -> Any:
    """Returns the context of mixed precision. It caches no casts of parameters: they are part of
    each call, like in each step of a training run."""
    kind = devices.torch_device(case.settings.device).type
    if case.settings.autocast not in AUTOCAST_DTYPES:
        # A case in float64 runs inside the scope of the one that it verifies.
        is_inside = torch.is_autocast_enabled(kind)
        return torch.autocast(kind, enabled=False) if is_inside else nullcontext()
    return torch.autocast(kind, dtype=getattr(torch, case.settings.autocast), cache_enabled=False)
