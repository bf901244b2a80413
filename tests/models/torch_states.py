"""Models of PyTorch that keep something from call to call, each in another place."""

import collections
import dataclasses
import random
import types

import numpy as np
import torch


class Stateful(torch.nn.Module):
    """A network whose outputs differ from call to call, unless what it keeps is restored."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)

    def example_inputs(self):
        return (torch.randn(3, 4),)


class InPlace(Stateful):
    def forward(self, x):
        x.add_(1)
        return self.layer(x)


class Sorting(Stateful):
    def forward(self, x):
        was_sorted = (x.diff() >= 0).all()
        x.copy_(x.sort().values)
        return was_sorted, x * 2


class ByNumPy(Stateful):
    def forward(self, x):
        x.detach().numpy()[:] += 1
        return self.layer(x)


class ByData(Stateful):
    def forward(self, x):
        x.data.mul_(2)
        self.layer.weight.data.clamp_(-0.1, 0.1).mul_(2)
        return self.layer(x)


class Named(Stateful):
    def forward(self, pair, mask):
        first, (second,) = pair["first"], pair["rest"]
        pair["rest"].append(first)
        second.add_(1)
        mask.logical_not_()
        return self.layer(first) + second * mask, len(pair["rest"])

    def example_inputs(self):
        pair = {"first": torch.randn(3, 4), "rest": [torch.randn(3, 4)]}
        return {"pair": pair, "mask": torch.ones(3, 4, dtype=torch.bool)}


class Buffers(Stateful):
    def __init__(self):
        super().__init__()
        self.register_buffer("kept", torch.zeros(4))
        self.register_buffer("passing", torch.zeros(4), persistent=False)
        self.register_buffer("absent", None)

    def forward(self, x):
        self.kept.add_(1)
        self.passing += 2
        self.absent = self.passing * 2 if self.absent is None else self.absent + 1
        return self.layer(x) + self.kept + self.passing + self.absent


class Plain(Stateful):
    def __init__(self):
        super().__init__()
        self.tensor = torch.zeros(4)
        self.layer.inner = {"a": [torch.zeros(4)], "b": (torch.zeros(4),)}
        self.array = np.zeros(4, dtype="float32")

    def forward(self, x):
        self.tensor.add_(1)
        self.layer.inner["a"][0].add_(1)
        self.layer.inner["b"][0].add_(1)
        self.array += 1
        found = self.tensor + self.layer.inner["a"][0] + self.layer.inner["b"][0]
        return self.layer(x) + found + torch.from_numpy(self.array)


class Counting(Stateful):
    def __init__(self):
        super().__init__()
        self.calls, self.seen, self.last = 0, [], collections.deque(maxlen=2)

    def forward(self, x):
        self.calls += 1
        self.seen.append(self.calls)
        self.last.append(len(self.seen))
        return self.layer(x) * self.calls + sum(self.seen) + sum(self.last)


class Cache(Stateful):
    """Appends to a cache that it makes at its first call."""

    def __init__(self):
        super().__init__()
        self.cache = None

    def forward(self, x):
        self.cache = x if self.cache is None else torch.cat([self.cache, x])
        return self.layer(self.cache)


class FixedCache(Stateful):
    """Fills a cache that it makes at its first call, for two calls."""

    def __init__(self):
        super().__init__()
        self.at = 0

    def forward(self, x):
        if not hasattr(self, "cache"):
            self.cache = torch.zeros(6, 4)
        self.cache[self.at : self.at + 3] = x
        self.at += 3
        return self.layer(self.cache), self.at


class Slotted:
    __slots__ = ("length", "keys")

    def __init__(self):
        self.length, self.keys = 0, torch.zeros(8, 4)


@dataclasses.dataclass(frozen=True)
class Frozen:
    values: list


class Objects(Stateful):
    """Keeps tensors in objects that are no modules."""

    def __init__(self):
        super().__init__()
        self.slotted, self.frozen = Slotted(), Frozen([])
        self.space = types.SimpleNamespace(step=torch.zeros(4))

    def forward(self, x):
        self.slotted.keys[self.slotted.length] = x[0]
        self.slotted.length += 1
        self.frozen.values.append(x)
        self.space.step = self.space.step + 1
        found = self.slotted.keys[: self.slotted.length].sum(0) + self.space.step
        return self.layer(x) + found + len(self.frozen.values)


class Drawing(Stateful):
    """Draws from generators of its own."""

    def __init__(self):
        super().__init__()
        self.generator = torch.Generator().manual_seed(3)
        self.draws, self.random = np.random.default_rng(3), random.Random(3)

    def forward(self, x):
        noise = torch.randn(4, generator=self.generator)
        return self.layer(x) + noise + self.draws.random() + self.random.random()


class Growing(Stateful):
    """Keeps each output in a dict, as a hook does, and what it has seen in a set."""

    def __init__(self):
        super().__init__()
        self.outputs, self.seen = {}, set()
        self.register_forward_hook(self.keep)

    def keep(self, module, inputs, output):
        self.outputs[len(self.outputs)] = output
        self.seen.add(len(self.outputs))

    def forward(self, x):
        return self.layer(x) + len(self.outputs) + len(self.seen)


class Views(Stateful):
    """Writes to a tensor by another one that shares its memory."""

    def __init__(self):
        super().__init__()
        self.register_buffer("expanded", torch.zeros(1, 4).expand(3, 4))
        self.base = torch.zeros(4)
        self.view = self.base.view(2, 2)

    def forward(self, x):
        self.view.add_(1)
        return self.layer(x) + self.expanded + self.base


class Updating(Stateful):
    """Has an optimizer of its own."""

    def __init__(self):
        super().__init__()
        self.optimizer = torch.optim.Adam(self.layer.parameters())

    def forward(self, x):
        with torch.enable_grad():
            self.optimizer.zero_grad()
            loss = self.layer(x).square().mean()
            loss.backward()
        self.optimizer.step()
        return self.layer(x)


CALLS = [0]


class OfClass(Stateful):
    total = 0

    def forward(self, x):
        type(self).total += 1
        CALLS[0] += 1
        return self.layer(x) + self.total + CALLS[0]


class Renormalised(Stateful):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(5, 4, max_norm=0.5)

    def forward(self, x):
        before = self.table.weight.detach().clone()
        return self.table(torch.arange(5)), before


class Normalised(Stateful):
    def __init__(self):
        super().__init__()
        self.normalisation = torch.nn.BatchNorm1d(4)

    def forward(self, x):
        return self.normalisation(x), self.normalisation.running_mean.clone()


class Lazy(Stateful):
    """Has parameters of unknown shapes, and a counter that the call that makes them moves."""

    def __init__(self):
        super().__init__()
        self.layer, self.calls = torch.nn.LazyLinear(4), 0

    def forward(self, x):
        self.calls += 1
        return self.layer(x) * self.calls


def closure():
    kept, calls = torch.zeros(4), 0

    def call(x, seen=[]):  # noqa: B006
        nonlocal calls
        calls += 1
        kept.add_(1)
        seen.append(calls)
        return x * calls + kept + len(seen)

    return call, (torch.randn(3, 4),)


class Table(Stateful):
    """Makes a table at its first call, and counts its calls."""

    def __init__(self):
        super().__init__()
        self.table, self.by_size, self.calls, self.made = None, {}, 0, 0

    def forward(self, x):
        self.calls += 1
        if self.table is None:
            self.table, self.made = torch.arange(4.0), self.made + 1
        if len(x) not in self.by_size:
            self.by_size[len(x)] = torch.ones(4)
        return self.layer(x) * self.calls + self.table + self.by_size[len(x)]


class Full(Cache):
    """Has a cache for a single call."""

    def forward(self, x):
        if self.cache is not None:
            raise IndexError("the cache is full")
        return super().forward(x)


SHARED = Counting(), torch.randn(3, 4)


def shared():
    """Returns a model that its file has made, which a second call returns too."""
    return SHARED[0], (SHARED[1],)


class Limited(Stateful):
    """Counts its calls, and makes a single one."""

    calls = 0

    def forward(self, x):
        self.calls += 1
        if self.calls > 1:
            raise IndexError("it was called already")
        return self.layer(x)


class Forgetful(Stateful):
    """Keeps nothing where it is compiled."""

    def __init__(self):
        super().__init__()
        self.register_buffer("kept", torch.zeros(4), persistent=False)

    def forward(self, x):
        if not torch.compiler.is_compiling():
            self.kept.add_(1)
        return self.layer(x)


class Stateless(Stateful):
    def forward(self, x):
        return self.layer(x).relu()
