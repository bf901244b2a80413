"""Execution modes: how a bound call runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any, NamedTuple

import torch

from opperf.errors import UnsupportedError
from opperf.frameworks.torch import compiler, devices, private
from opperf.frameworks.torch.messages import refusal
from opperf.model import Case, OperatorTarget, Settings, SnippetTarget

AUTOCAST_DTYPES = ("bfloat16", "float16")
"""Dtypes of automatic mixed precision, on CPUs and on GPUs."""

CAPTURE_WARMUP = 3
"""Calls before a CUDA graph is captured, in which libraries allocate workspace and choose kernels,
which they cannot do during a capture. PyTorch's own examples have as many."""


def prepare(settings: Settings, call: partial[Any], is_user_code: bool) -> Callable[[], Any]:
    """Returns the call as the mode of a case's settings runs it. In eager mode that is the call
    itself, without overhead. Code of a user's may have graph breaks; an operator has none.

    Raises `UnsupportedError` if the mode cannot run it.
    """
    return MODES[settings.mode](Work(call, settings.device, is_user_code))


class Work(NamedTuple):
    """The work of a mode."""

    call: partial[Any]
    device: str
    is_user_code: bool
    """Whether the function is a user's, and not PyTorch's."""


def _run_eagerly(work: Work) -> Callable[[], Any]:
    return work.call


def _compile(work: Work) -> Callable[[], Any]:
    """Returns the compiled call, which compiles when it is first called. Its tensors are inputs,
    and its plain values constants."""
    return compiler.compiled(work.call, whole=not work.is_user_code)


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


def _trace(work: Work) -> Callable[[], Any]:
    """Returns the call as a TorchScript program, by tracing it: a script of Python code would need
    the code of functions that have none."""
    traced = _OfTensors(work.call)
    # A function's program is called with less overhead than a module's.
    function = traced if isinstance(work.call.func, torch.nn.Module) else traced.forward
    # Copies, as tracing runs the call, which may write to its inputs.
    copies = tuple(tensor.detach().clone() for tensor in traced.tensors)
    try:
        program = torch.jit.trace(function, copies, check_trace=False, strict=False)
    except Exception as error:
        reason = refusal(error)
        if reason is None:
            raise
        raise UnsupportedError(f"TorchScript does not trace it: {reason}") from error
    return partial(program, *traced.tensors)


def _capture(work: Work) -> Callable[[], Any]:
    """Returns the replay of a CUDA graph of the call, whose results are in the same memory each
    time."""
    device = devices.torch_device(work.device)
    if device.type != "cuda":
        raise UnsupportedError(f"mode graph needs a GPU, and {work.device} is none; use --ctx gpu")
    try:
        with torch.cuda.device(device):
            graph, outputs = _captured(work.call)
    except RuntimeError as error:
        raise UnsupportedError(f"no CUDA graph can be captured of it: {refusal(error)}") from error

    def replay() -> Any:
        graph.replay()
        return outputs

    return replay


def _captured(call: Callable[[], Any]) -> tuple[torch.cuda.CUDAGraph, Any]:
    """Returns a CUDA graph of a call, and the results that a replay writes to."""
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


MODES: Mapping[str, Callable[[Work], Callable[[], Any]]] = {
    "eager": _run_eagerly,
    "compile": _compile,
    "script": _trace,
    "graph": _capture,
}
"""Functions that prepare a call, by the mode's name, the default one first."""

COMPILED = ("compile",)
"""Modes that compile at the first call."""

NO_BACKWARD = {"graph": "a CUDA graph is captured of the forward pass alone"}
"""Modes without gradients, each with the reason."""


@contextmanager
def scope(case: Case) -> Iterator[None]:
    """Returns a context of a case's mode, mixed precision and phase. Raises `UnsupportedError` in
    place of what the compiler raises."""
    compiling = case.settings.mode in COMPILED
    with (
        compiler.scope(case.settings.compile_cache == "cold") if compiling else nullcontext(),
        _autocast(case),
        torch.no_grad() if predicts(case) else nullcontext(),
    ):
        yield


def predicts(case: Case) -> bool:
    """Whether a case is run without gradients, as programs run inference: a module or function of
    which the forward pass alone is measured, in the phase that predicts. An operator has no
    parameters whose gradients would be recorded, and a snippet decides by its own code."""
    is_other = isinstance(case.target, (OperatorTarget, SnippetTarget))
    return case.settings.phase == "predict" and "backward" not in case.passes and not is_other


def _autocast(case: Case) -> Any:
    """Returns the context of a case's automatic mixed precision. It caches no casts of parameters:
    they are part of each call, like in each step of a training run."""
    if case.settings.autocast not in AUTOCAST_DTYPES:
        return nullcontext()
    return torch.autocast(
        devices.torch_device(case.settings.device).type,
        dtype=getattr(torch, case.settings.autocast),
        cache_enabled=False,
    )
