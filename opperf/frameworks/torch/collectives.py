"""Collective operators, in a group of two processes of this machine by gloo: the one that measures,
and one that repeats the same call for as long as the group lasts."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import Any, NoReturn

import torch
import torch.distributed as distributed

from opperf.errors import UnsupportedError
from opperf.frameworks.torch import PROCESSES
from opperf.frameworks.torch.devices import torch_device
from opperf.model import Case, OperatorTarget, Target

NAMESPACE = "_c10d_functional::"
TIMEOUT = timedelta(minutes=2)
"""Longest wait of one process for the other, of which none but a stopped one takes seconds."""

_others: list[int] = []


def is_collective(target: Target) -> bool:
    """Whether a target is an operator of all processes of a group."""
    return isinstance(target, OperatorTarget) and target.path.startswith(NAMESPACE)


def in_group(case: Case, call: partial[Any]) -> partial[Any]:
    """Returns a call that waits for its results, in a group of its own with another process, which
    makes the same calls with the same contents. Raises `UnsupportedError` on a GPU."""
    if torch_device(case.settings.device).type != "cpu":
        raise UnsupportedError("collectives are measured between two processes on the CPU alone")
    leave()
    wait = getattr(torch.ops, NAMESPACE.removesuffix("::")).wait_tensor.default
    complete = partial(_complete, wait, call.func, *call.args, **call.keywords)
    with tempfile.TemporaryDirectory() as folder:
        # A fork has imported all and has the arguments: a start of PyTorch takes seconds.
        other = os.fork()
        if not other:
            _repeat(complete, folder)
        _others.append(other)
        _join(folder, rank=0)
        # Until the other process is there too, as the folder goes now.
        distributed.barrier()
    return complete


def leave() -> None:
    """Ends the group of a case, if there is one, and the other process with it."""
    if _others and distributed.is_initialized():
        distributed.destroy_process_group()
    while _others:
        other = _others.pop()
        # It may have ended by itself, which its number still tells.
        os.kill(other, signal.SIGKILL)
        os.waitpid(other, 0)


def _repeat(call: Callable[[], Any], folder: str) -> NoReturn:
    try:
        # No thread of the pool is left in a fork.
        torch.set_num_threads(1)
        _join(folder, rank=1)
        distributed.barrier()
        while True:
            call()
    finally:
        # Once the other end is closed, whatever the error: what is left of the first process's to
        # do at its end is not the fork's.
        os.kill(os.getpid(), signal.SIGKILL)


def _join(folder: str, rank: int) -> None:
    distributed.init_process_group(
        "gloo", f"file://{folder}/group", timeout=TIMEOUT, world_size=PROCESSES, rank=rank
    )


def _complete(wait: Any, function: Any, *arguments: Any, **named: Any) -> Any:
    made = function(*arguments, **named)
    return [wait(part) for part in made] if isinstance(made, Sequence) else wait(made)


SCRIPT = (
    "# To be run in two processes: torchrun --nproc-per-node 2 FILE",
    'torch.distributed.init_process_group("gloo")',
)
"""Lines of a script before its tensors."""
AFTER = (
    "torch.utils._pytree.tree_map(torch.ops._c10d_functional.wait_tensor, out)",
    # A process that ends while the other still waits for it ends that too.
    "torch.distributed.barrier()",
    "torch.distributed.destroy_process_group()",
)
"""Its lines after the call."""
