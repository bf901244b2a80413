"""The networks that come with opperf are the same in each framework."""

from pathlib import Path

import numpy as np
import pytest

from opperf.errors import UsageError
from opperf.models.base import SIZES, Options, find_suite, models_of
from opperf.models.networks import NETWORKS, SUITE, Instance, instance
from tests.models.networks_page import parameters, rows
from tests.models.networks_run import (
    FRAMEWORKS,
    OTHERS,
    PREDICT,
    TRAIN,
    built,
    distance,
    is_running,
    predict_torch,
    weights,
)

needs_torch = pytest.mark.skipif("torch" not in FRAMEWORKS, reason="PyTorch is not installed")

PAGE = Path(__file__).parents[2] / "docs" / "experiments.md"

TOLERANCE = 1e-5
"""Relative distance of outputs: some hundred roundings of float32, 6e-8 each, which add up over the
layers in another order in each framework."""

GRADIENTS = 0.01
"""Relative difference of gradients' norms: where the input of a ReLU is 0 up to a rounding, one
framework has it on, and another off. In float64 they agree to 1e-14."""


def test_the_suite_has_each_network_in_three_sizes():
    for framework in ("torch", "jax", "mxnet"):
        models = models_of("opperf", framework)
        assert [model.name for model in models] == sorted(NETWORKS)
        assert all(model.sizes == SIZES and model.why for model in models)
    with pytest.raises(UsageError, match="suite opperf has no models of numpy, but of torch, jax"):
        models_of("opperf", "numpy")


def test_the_documentation_has_each_network():
    assert set(rows()) <= set(PAGE.read_text().splitlines())


def test_resnet18_has_the_parameters_of_the_paper():
    # Those of torchvision's, which has the paper's layers.
    network = NETWORKS["resnet18"]
    assert parameters(network, network.sizes["default"]) == 11_689_512


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", NETWORKS)
def test_integers_are_in_the_range_of_what_they_index(name, size):
    made = instance(name, Options(size=size))
    weights = made.network.weights(made.extents)
    rows = {"tokens": "tokens.weight", "categories": "tables.0.weight"}
    for key, array in made.network.inputs(made.extents).items():
        assert array.shape[0] == made.extents["batch"]
        if array.distribution == "integers":
            assert array.width == weights[rows[key]].shape[0]


def test_a_batch_size_replaces_the_networks_own():
    made = instance("gpt", Options(size="small", batch_size=3))
    assert [array.shape for _, array in made.inputs()] == [(3, 32)]
    assert made.target().shape == (3, 32)
    assert instance("gpt", Options(size="small")).extents["batch"] == 4


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("gpu", Options(), "unknown network 'gpu'; did you mean gpt?"),
        ("gpt", Options(size="smal"), "unknown size 'smal'; did you mean small?; network gpt has"),
        ("gpt", Options(batch_size=0), "a batch of 0; give 1 or more"),
    ],
)
def test_what_cannot_be_built_is_refused(name, options, message):
    with pytest.raises(UsageError) as raised:
        SUITE.build("torch", name, options)
    assert str(raised.value).startswith(message)


@pytest.mark.parametrize("name", NETWORKS)
def test_contents_depend_on_the_seed_and_their_own_name(name):
    def drawn(seed):
        made = instance(name, Options(size="small", seed=seed))
        return {key: array for key, _, array in made.weights()}, list(made.inputs()), made.target()

    (first, *others), (again, *others_again), (other, *_) = drawn(7), drawn(7), drawn(8)
    assert all(np.array_equal(first[key], again[key]) for key in first)
    assert all(not np.array_equal(first[key], other[key]) for key in first)
    assert all(np.isfinite(array).all() and array.dtype == "float32" for array in first.values())
    for (_, one), (_, same) in zip(others[0], others_again[0], strict=True):
        assert np.array_equal(one, same)
    assert np.array_equal(others[1], others_again[1])


def test_weights_do_not_depend_on_what_else_is_drawn():
    small = NETWORKS["gpt"].sizes["small"]
    made = [Instance("gpt", NETWORKS["gpt"], small | {"layers": layers}) for layers in (1, 2)]
    shallow, deep = ({key: array for key, _, array in one.weights()} for one in made)
    assert np.array_equal(shallow["norm.weight"], deep["norm.weight"])
    assert np.array_equal(shallow["tokens.weight"], deep["tokens.weight"])


# One test for all frameworks, as compiling and running a network twice takes most of the time.
@needs_torch
@pytest.mark.parametrize("name", NETWORKS)
def test_outputs_agree_and_are_of_order_one(name):
    reference = predict_torch(name)
    assert 0.1 < np.sqrt(np.mean(np.square(reference))) < 10
    for framework in OTHERS:
        outputs = PREDICT[framework](name)
        assert outputs.shape == reference.shape
        assert distance(outputs, reference) < TOLERANCE, framework


@needs_torch
@pytest.mark.parametrize("name", NETWORKS)
def test_a_layer_that_is_wrong_by_a_hundredth_is_beyond_the_tolerance(name):
    import torch

    model = built("torch", name)
    changed = [key for key in weights(name) if key.rpartition(".")[2].startswith("weight")]
    assert len(changed) > 2
    with torch.no_grad():
        reference = model.call(*model.inputs).numpy()
        for key in changed:
            weight = model.call.get_parameter(key)
            before = weight.clone()
            weight.mul_(1.01)
            outputs = model.call(*model.inputs).numpy()
            weight.copy_(before)
            assert distance(outputs, reference) > 10 * TOLERANCE, key


@needs_torch
@pytest.mark.parametrize("name", NETWORKS)
def test_training_agrees_and_lowers_the_loss(name):
    reference = TRAIN["torch"](name)
    assert reference.losses[-1] < reference.losses[0]
    assert all(np.isfinite(array).all() for array in reference.last.values())
    drawn = {key: array for key, _, array in instance(name, Options(size="small")).weights()}
    running = [key for key in drawn if is_running(key)]
    assert all(distance(reference.first[key], drawn[key]) > 0.01 for key in running)
    for framework in OTHERS:
        found = TRAIN[framework](name)
        assert found.losses[0] == pytest.approx(reference.losses[0], rel=TOLERANCE), framework
        assert found.gradients == pytest.approx(reference.gradients, rel=GRADIENTS), framework
        assert found.losses == pytest.approx(reference.losses, rel=0.05), framework
        for key in running:
            # MXNet's running variance is of the batch, the others' of the population.
            is_biased = framework == "mxnet" and key.endswith("var")
            allowed = 0.05 if is_biased else 10 * TOLERANCE
            assert distance(found.first[key], reference.first[key]) < allowed, key


@pytest.mark.skipif("mxnet" not in FRAMEWORKS, reason="MXNet is not installed")
@pytest.mark.parametrize("name", NETWORKS)
def test_blocks_are_the_same_without_hybridizing(name):
    assert distance(PREDICT["mxnet"](name, hybridizes=False), PREDICT["mxnet"](name)) < TOLERANCE


@needs_torch
@pytest.mark.parametrize("name", [name for name in NETWORKS if name != "lstm"])
def test_modules_compile_as_one_graph(name):
    import torch

    model = built("torch", name)
    compiled = torch.compile(model.call, backend="eager", fullgraph=True)
    with torch.no_grad():
        assert torch.equal(compiled(*model.inputs), model.call(*model.inputs))


@needs_torch
def test_lstm_layers_are_left_to_eager_mode():
    import torch

    model = built("torch", "lstm")
    with pytest.raises(torch._dynamo.exc.Unsupported, match="LSTM"):
        torch.compile(model.call, backend="eager", fullgraph=True)(*model.inputs)
    compiled = torch.compile(model.call, backend="eager")
    with torch.no_grad():
        assert torch.equal(compiled(*model.inputs), model.call(*model.inputs))


@needs_torch
def test_the_phase_is_that_of_the_options():
    assert built("torch", "unet", "train").call.training
    assert not built("torch", "unet").call.training


@needs_torch
def test_the_dummy_of_pytorch_xla():
    import torch

    suite = find_suite("dummy")
    assert [model.name for model in models_of("dummy", "torch")] == ["dummy"]
    before = torch.random.get_rng_state()
    model = suite.build("torch", "dummy", Options())
    assert torch.equal(before, torch.random.get_rng_state())
    shapes = [tuple(one.shape) for one in model.call.parameters() if one.dim() == 2]
    assert shapes == [(512, 32), (512, 512), (32, 512)]
    outputs = model.call(*model.inputs)
    assert outputs.shape == (16, 32)
    assert torch.allclose(outputs.sum(dim=1), torch.ones(16))
    again, other = (suite.build("torch", "dummy", Options(seed=seed)) for seed in (0, 1))
    assert torch.equal(model.call[0].weight, again.call[0].weight)
    assert not torch.equal(model.call[0].weight, other.call[0].weight)
    torch.manual_seed(1337)
    assert torch.equal(torch.nn.Linear(32, 512).weight, model.call[0].weight)
    with pytest.raises(UsageError, match="suite dummy has no model 'dumy'; did you mean dummy"):
        suite.build("torch", "dumy", Options())
    with pytest.raises(UsageError, match="a batch of -1"):
        suite.build("torch", "dummy", Options(batch_size=-1))
