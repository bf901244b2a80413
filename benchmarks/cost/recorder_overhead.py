"""What recording costs a training step: that of a ResNet-18 and of a transformer of four layers of
width 256, beside the same step without a recorder and below a dispatch mode that does nothing. Of
the first recorded step a recorder keeps the flow of tensors too, in which it finds chains of calls.

The five take turns in one process, in rounds, so that the machine's load is that of all. Prints
the median time of a step of each, the ratio to the step without a recorder, the median of the
rounds' own, and the calls of operators in a step. The first steps with a recorder, which describe
each distinct call, are not among them: their time is printed for itself.

Run: python -m benchmarks.cost.recorder_overhead [--rounds 15] [--threads 2] [--batch 8]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from tabulate import tabulate
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from opperf.recording.session import Session

WIDTHS = (64, 128, 256, 512)
"""Channels of ResNet-18's stages."""

CLASSES, TOKENS, LENGTH = 1000, 5000, 128


class Residual(nn.Module):
    """Two convolutions beside the identity, or beside a convolution of stride two."""

    def __init__(self, inside: int, width: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(inside, width, 3, stride, 1, bias=False)
        self.first_norm = nn.BatchNorm2d(width)
        self.second = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.second_norm = nn.BatchNorm2d(width)
        self.beside: nn.Module = nn.Identity()
        if stride > 1 or inside != width:
            halved = nn.Conv2d(inside, width, 1, stride, bias=False)
            self.beside = nn.Sequential(halved, nn.BatchNorm2d(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        inside = torch.relu(self.first_norm(self.first(x)))
        return torch.relu(self.second_norm(self.second(inside)) + self.beside(x))


def resnet18() -> nn.Module:
    """Returns the network of He et al. (2015), table 1, of 18 layers."""
    layers: list[nn.Module] = [
        nn.Conv2d(3, 64, 7, 2, 3, bias=False),
        nn.BatchNorm2d(64),
        nn.ReLU(),
        nn.MaxPool2d(3, 2, 1),
    ]
    inside = 64
    for stage, width in enumerate(WIDTHS):
        layers += [Residual(inside, width, 1 if stage == 0 else 2), Residual(width, width, 1)]
        inside = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, CLASSES))


class Transformer(nn.Module):
    """A decoder of four layers of width 256."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(TOKENS, 256)
        layer = nn.TransformerEncoderLayer(256, 4, 1024, 0.0, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
        self.head = nn.Linear(256, TOKENS)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1])
        return self.head(self.layers(self.embed(tokens), mask=mask, is_causal=True))


def step_of(net: nn.Module, inputs: torch.Tensor, targets: torch.Tensor) -> Callable[[], None]:
    """Returns a training step: forward, loss, backward, and SGD with momentum."""
    optimizer = torch.optim.SGD(net.parameters(), 0.01, momentum=0.9)

    def step() -> None:
        loss = nn.functional.cross_entropy(net(inputs).flatten(0, -2), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


class Bare(TorchDispatchMode):
    """Makes the calls that it sees, and does nothing else."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        return func(*args, **(kwargs or {}))


class Switched:
    """A recorder that is on inside `context` alone, with what it knows of the earlier steps."""

    def __init__(self, timed: bool, has_flow: bool = False) -> None:
        self._timed, self._has_flow, self._session = timed, has_flow, None
        self.calls = 0

    @contextmanager
    def context(self) -> Iterator[None]:
        session = Session("benchmark", self._timed)
        session.start(["torch"])
        if not self._has_flow:
            session._recorders["torch"].end_flow()
        if self._session is not None:
            # The distinct calls of the rounds before.
            session._calls["torch"].known.update(self._session._calls["torch"].known)
        before = session._calls["torch"].number
        try:
            yield
        finally:
            session.stop()
            self.calls = session._calls["torch"].number - before
            self._session = session


def measure(step: Callable[[], None], rounds: int) -> list[list[Any]]:
    """Returns a row for each way to run a step."""
    recorder, flow, timed = Switched(False), Switched(False, has_flow=True), Switched(True)
    ways: dict[str, Callable[[], AbstractContextManager[Any]]] = {
        "without a recorder": nullcontext,
        "bare dispatch mode": Bare,
        "opperf record": recorder.context,
        "opperf record, with the flow": flow.context,
        "opperf record --timed": timed.context,
    }
    times: dict[str, list[float]] = {way: [] for way in ways}
    first: dict[str, float] = {}
    for number in range(rounds + 1):
        for way, context in ways.items():
            with context():
                begun = time.perf_counter()
                step()
                took = time.perf_counter() - begun
            if number:
                times[way].append(took)
            else:
                first[way] = took
    eager = times["without a recorder"]
    rows = []
    for way, taken in times.items():
        ratios = [one / other for one, other in zip(taken, eager, strict=True)]
        rows.append(
            [way, statistics.median(taken) * 1e3, statistics.median(ratios), first[way] * 1e3]
        )
    print(f"{recorder.calls} calls of operators in a step")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=8)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    torch.manual_seed(0)
    images = torch.randn(given.batch, 3, 64, 64)
    classes = torch.randint(0, CLASSES, (given.batch,))
    tokens = torch.randint(0, TOKENS, (given.batch, LENGTH))
    programs = {
        "ResNet-18": step_of(resnet18(), images, classes),
        "Transformer of 4 layers of width 256": step_of(Transformer(), tokens, tokens),
    }
    for name, step in programs.items():
        print(f"\n{name}, batch {given.batch}, {given.threads} threads")
        rows = measure(step, given.rounds)
        print(tabulate(rows, ["", "ms", "ratio", "first ms"], floatfmt=".2f"))


if __name__ == "__main__":
    main()
