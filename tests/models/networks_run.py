"""Runs networks in each framework, by nothing but what their `Model` has."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from opperf.frameworks import is_available
from opperf.models.base import Options
from opperf.models.networks import NETWORKS, SUITE

FRAMEWORKS = [name for name in SUITE.frameworks if is_available(name)]
OTHERS = [name for name in FRAMEWORKS if name != "torch"]

STEPS = 10
"""Of a training, which each framework takes: JAX's take long here, as the tests have it compile
without optimizations."""


@dataclass(frozen=True)
class Training:
    """What some steps on one batch gave: the losses, the norms of the first gradients by the
    names of weights, and all arrays after the first step and after the last."""

    losses: list[float]
    gradients: dict[str, float]
    first: dict[str, np.ndarray]
    last: dict[str, np.ndarray]


def built(framework, name, phase="predict", seed=0):
    return SUITE.build(framework, name, Options(size="small", phase=phase, seed=seed))


def weights(name):
    """Names of a network's weights, with those that the batch updates and no gradient."""
    network = NETWORKS[name]
    return list(network.weights(network.sizes["small"]))


def is_running(name):
    return name.rpartition(".")[2].startswith("running_")


def predict_torch(name):
    import torch

    model = built("torch", name)
    with torch.no_grad():
        return model.call(*model.inputs).numpy()


def predict_jax(name):
    import jax

    model = built("jax", name)
    outputs = np.asarray(jax.jit(model.call)(model.parameters, *model.inputs))
    return outputs.transpose(0, 3, 1, 2) if outputs.ndim == 4 else outputs


def predict_mxnet(name, hybridizes=True):
    model = built("mxnet", name)
    if hybridizes:
        model.call.hybridize()
    return model.call(*model.inputs).asnumpy()


PREDICT = {"torch": predict_torch, "jax": predict_jax, "mxnet": predict_mxnet}


def train_torch(name):
    model = built("torch", name, "train")
    optimizer = model.optimizer(model.call.parameters())
    parameters = dict(model.call.named_parameters())
    losses, gradients, first = [], {}, {}
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = model.loss(model.call(*model.inputs), *model.targets)
        loss.backward()
        losses.append(loss.item())
        if step == 0:
            gradients = {key: float(one.grad.norm()) for key, one in parameters.items()}
        optimizer.step()
        if step == 0:
            first = {key: one.numpy().copy() for key, one in model.call.state_dict().items()}
    last = {key: one.numpy() for key, one in model.call.state_dict().items()}
    return Training(losses, gradients, first, last)


def train_jax(name):
    import jax

    model = built("jax", name, "train")

    @jax.jit
    def step(parameters, state, inputs, targets):
        def loss(parameters):
            return model.loss(model.call(parameters, *inputs), *targets)

        found, gradients = jax.value_and_grad(loss)(parameters)
        updates, state = model.optimizer.update(gradients, state, parameters)
        parameters = jax.tree_util.tree_map(lambda one, other: one + other, parameters, updates)
        return found, gradients, parameters, state

    def named(tree):
        leaves = jax.tree_util.tree_flatten_with_path(tree)[0]
        keys = [
            [str(getattr(part, "key", getattr(part, "idx", ""))) for part in path]
            for path, _ in leaves
        ]
        return {
            ".".join(key): np.asarray(leaf) for key, (_, leaf) in zip(keys, leaves, strict=True)
        }

    parameters, state = model.parameters, model.optimizer.init(model.parameters)
    losses, norms, first = [], {}, {}
    for number in range(STEPS):
        loss, gradients, parameters, state = step(parameters, state, model.inputs, model.targets)
        losses.append(float(loss))
        if number == 0:
            norms = {key: float(np.linalg.norm(one)) for key, one in named(gradients).items()}
            first = named(parameters)
    trained = {key: norm for key, norm in norms.items() if not is_running(key)}
    return Training(losses, trained, first, named(parameters))


def train_mxnet(name):
    import mxnet as mx

    from opperf.models.mxnet.build import parameter

    model = built("mxnet", name, "train")
    model.call.hybridize()
    trainer = mx.gluon.Trainer(model.call.collect_params(), *model.optimizer, kvstore=None)
    found = {key: parameter(model.call, key) for key in weights(name)}

    def values():
        return {key: one.data().asnumpy() for key, one in found.items()}

    losses, norms, first = [], {}, {}
    for number in range(STEPS):
        with mx.autograd.record():
            loss = model.loss(model.call(*model.inputs), *model.targets).mean()
        loss.backward()
        losses.append(loss.asscalar())
        if number == 0:
            norms = {
                key: float(np.linalg.norm(one.grad().asnumpy()))
                for key, one in found.items()
                if one.grad_req != "null"
            }
        trainer.step(1)
        if number == 0:
            first = values()
    return Training(losses, norms, first, values())


TRAIN = {"torch": train_torch, "jax": train_jax, "mxnet": train_mxnet}


def distance(one, other):
    """Root of the mean square of the difference, relative to that of `other`."""
    return float(np.linalg.norm(one - other) / np.linalg.norm(other))
