"""Models of MXNet, as a user's file has them."""

import mxnet as mx


def make(batch_size=3):
    block = mx.gluon.nn.HybridSequential()
    block.add(mx.gluon.nn.Dense(16, activation="relu"), mx.gluon.nn.Dense(4))
    labels = mx.nd.arange(batch_size) % 4
    loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    optimizer = ("sgd", {"learning_rate": 0.5})
    return block, (mx.nd.ones((batch_size, 8)),), loss, optimizer, (labels,)
