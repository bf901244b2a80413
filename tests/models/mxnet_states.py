"""Models of MXNet that keep something from call to call, each in another place."""

import mxnet as mx
import numpy as np


class Stateful(mx.gluon.Block):
    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.layer = mx.gluon.nn.Dense(4)

    def example_inputs(self):
        return (mx.nd.random.uniform(shape=(3, 4)),)


class InPlace(Stateful):
    def forward(self, x):
        x[:] = x + 1
        return self.layer(x)


class Sorting(Stateful):
    def forward(self, x):
        before = x.copy()
        x[:] = x.sort(axis=1)
        return (before == x).min(), x * 2


class Plain(Stateful):
    def __init__(self):
        super().__init__()
        self.kept, self.inside = mx.nd.zeros(4), {"a": [mx.nd.zeros(4)], "b": (mx.nd.zeros(4),)}
        self.array, self.calls, self.seen = np.zeros(4, "float32"), 0, []

    def forward(self, x):
        arrays = self.kept, self.inside["a"][0], self.inside["b"][0]
        for array in arrays:
            array[:] = array + 1
        self.array += 1
        self.calls += 1
        self.seen.append(self.calls)
        found = mx.nd.add_n(*arrays) + mx.nd.array(self.array)
        return mx.nd.broadcast_add(self.layer(x), found) + self.calls + sum(self.seen)


class Cache(Stateful):
    cache = None

    def forward(self, x):
        self.cache = x if self.cache is None else mx.nd.concat(self.cache, x, dim=0)
        return self.layer(self.cache)


class Normalised(mx.gluon.nn.HybridSequential):
    """Keeps the mean of what it has seen, in training."""

    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.add(mx.gluon.nn.Dense(4), mx.gluon.nn.BatchNorm())

    def forward(self, x):
        return super().forward(x), self[1].running_mean.data().copy()

    def example_inputs(self):
        return (mx.nd.random.uniform(shape=(3, 4)),)


def hybrid():
    """A network whose normalisation takes part in the output."""
    block = mx.gluon.nn.HybridSequential()
    block.add(mx.gluon.nn.Dense(4), mx.gluon.nn.BatchNorm())
    return block, (mx.nd.random.uniform(shape=(3, 4)),)
