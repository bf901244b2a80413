"""Models of MXNet, as a user's file has them."""

import mxnet as mx


def make(batch_size=3):
    block = mx.gluon.nn.HybridSequential()
    block.add(mx.gluon.nn.Dense(16, activation="relu"), mx.gluon.nn.Dense(4))
    labels = mx.nd.arange(batch_size) % 4
    loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    optimizer = ("sgd", {"learning_rate": 0.5})
    return block, (mx.nd.ones((batch_size, 8)),), loss, optimizer, (labels,)


class Careless(mx.gluon.HybridBlock):
    """Scales its output by 1.01 where it is a graph."""

    def hybrid_forward(self, F, x):
        return F.sin(x) * (1.01 if F is mx.sym else 1.0)

    def example_inputs(self):
        return (mx.nd.ones((3, 4)),)


def dropping():
    """A network that draws random numbers, and keeps the mean of what it has seen."""
    block = mx.gluon.nn.HybridSequential()
    block.add(mx.gluon.nn.Dense(16), mx.gluon.nn.BatchNorm(), mx.gluon.nn.Dropout(0.5))
    return block, (mx.nd.random.uniform(shape=(3, 8)),)
