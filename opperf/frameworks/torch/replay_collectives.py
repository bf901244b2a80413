"""Collective operations of a replay whose ranks are processes of this machine, by gloo."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from typing import Any

import torch
import torch.distributed as distributed

from opperf.frameworks.replays import Collective, Group
from opperf.frameworks.torch.devices import dtype_of

TIMEOUT = timedelta(minutes=5)
"""Longest wait for the other processes, which read their traces and try their calls meanwhile."""

DTYPE = "float32"
"""Of the elements of an operation whose dtype is unknown."""


class Collectives:
    """The operations of one process of a group."""

    def __init__(self, group: Group) -> None:
        """Waits until all processes are there."""
        if distributed.is_initialized():
            # That of an earlier case of this process.
            distributed.destroy_process_group()
        distributed.init_process_group(
            "gloo",
            init_method=f"tcp://127.0.0.1:{group.port}",
            rank=group.rank,
            world_size=group.size,
            timeout=TIMEOUT,
        )
        self._size = group.size
        self._made: dict[Collective, Callable[[], object]] = {}

    def make(self, collective: Collective) -> Callable[[], object] | None:
        """Returns what makes an operation; None for one of some of the ranks, and for one that has
        no counterpart, such as a wait of the host."""
        name = "".join(character for character in collective.name if character.isalpha()).lower()
        maker = next((made for key, made in MAKERS.items() if name.startswith(key)), None)
        if maker is None or collective.ranks not in (0, self._size):
            return None
        if collective not in self._made:
            dtype = dtype_of(collective.dtype or DTYPE)
            # Zeros stay what they are, however often they are added up.
            sent = torch.zeros(max(1, collective.sent), dtype=dtype)
            self._made[collective] = maker(sent, self._size)
        return self._made[collective]


Maker = Callable[[torch.Tensor, int], Callable[[], object]]


def _all_gather(sent: torch.Tensor, size: int) -> Callable[[], object]:
    return partial(distributed.all_gather, [torch.empty_like(sent) for _ in range(size)], sent)


def _reduce_scatter(sent: torch.Tensor, size: int) -> Callable[[], object]:
    count = max(1, sent.numel() // size)
    parts = [torch.zeros(count, dtype=sent.dtype) for _ in range(size)]
    return partial(distributed.reduce_scatter, torch.empty_like(parts[0]), parts)


def _all_to_all(sent: torch.Tensor, size: int) -> Callable[[], object]:
    count = -(-sent.numel() // size) * size
    whole = torch.zeros(count, dtype=sent.dtype)
    return partial(distributed.all_to_all_single, torch.empty_like(whole), whole)


def _alone(function: Callable[..., Any], *more: int) -> Maker:
    return lambda sent, size: partial(function, sent, *more)


MAKERS: Mapping[str, Maker] = {
    "allreduce": _alone(distributed.all_reduce),
    "broadcast": _alone(distributed.broadcast, 0),
    "allgather": _all_gather,
    "reducescatter": _reduce_scatter,
    "alltoall": _all_to_all,
    "reduce": _alone(distributed.reduce, 0),
    "barrier": lambda sent, size: distributed.barrier,
}
"""By the beginning of an operation's name without underscores, the longer ones first."""
