"""What operators make of the inputs that rules give them, where it can be told."""

import numpy as np
import pytest

from opperf.instruments.prepared import PreparedCase
from opperf.rules.mxnet.image import TILE_SIDE


def test_a_picture_of_tiles_is_decoded(cases, outputs):
    colour, grey = (outputs(case)[0] for case in cases("_cvimdecode"))
    assert colour.shape == (64, 64, 3)
    assert grey.shape == (64, 64, 1)
    tile = colour[:TILE_SIDE, :TILE_SIDE].astype(int)
    rows, columns = (extent // TILE_SIDE for extent in colour.shape[:2])
    blocks = colour.reshape(rows, TILE_SIDE, columns, TILE_SIDE, 3).swapaxes(1, 2)
    # At the edges of a tile a decoder mixes in its neighbour's colour.
    inside = blocks[:, :, 2:-2, 2:-2]
    np.testing.assert_array_equal(inside, np.broadcast_to(tile[2:-2, 2:-2], inside.shape))
    # A blue disc; around it red grows to the right, and green downwards.
    assert tile[8, 8].argmax() == 2
    assert tile[0, -1, 0] - tile[0, 0, 0] > 100
    assert tile[-1, 0, 1] - tile[0, 0, 1] > 100


@pytest.mark.parametrize("kind", ["uniform", "non_uniform"])
def test_a_sample_of_a_graph_has_its_seeds_and_their_neighbours(cases, outputs, kind):
    (case,) = cases(f"_contrib_dgl_csr_neighbor_{kind}_sample")
    vertices, edges, *_, layers = outputs(case)
    count = vertices[-1]
    seeds = case.arguments["seed_arrays"][-1].size
    assert seeds < count <= case.arguments["max_num_vertices"]
    assert set(range(seeds)) <= set(vertices[:count])
    assert set(layers[:count]) == {0, 1, 2}
    assert 0 < np.count_nonzero(edges) <= count * case.arguments["num_neighbor"]


def test_a_graph_made_compact_has_its_edges_numbered_anew(cases, outputs):
    (case,) = cases("_contrib_dgl_graph_compact")
    (compact,) = outputs(case)
    graph, _ = case.arguments["graph_data"]
    assert 0 < len(compact) < graph.shape[0]
    assert compact.shape == case.arguments["graph_sizes"] * 2
    numbers = compact[compact > 0]
    assert len(numbers) > len(compact)
    np.testing.assert_array_equal(numbers, np.arange(1, len(numbers) + 1))


def test_tensors_that_are_compared_are_equal(cases, outputs):
    assert [outputs(case)[0] for case in cases("_contrib_allclose")] == [1, 1]


def test_mantissas_are_fractions(cases, outputs):
    for case in cases("_npi_ldexp") + cases("_npi_ldexp_scalar"):
        (made,) = outputs(case)
        assert np.any(made % 1)
        mantissas = made / 2.0 ** np.floor(np.log2(made)) / 2
        assert 0.5 <= mantissas.min() < mantissas.max() < 1


def test_signs_of_a_projection_are_of_both_kinds(framework, cases):
    (case,) = cases("_contrib_count_sketch")
    signs = framework.tensor(case.arguments["s"], "cpu(0)", 0).asnumpy()
    assert set(signs.ravel()) == {-1, 1}


@pytest.mark.parametrize("normalization", ["null", "valid"])
def test_the_gradient_of_a_loss_is_normalised(framework, cases, normalization):
    case = next(
        one
        for one in cases("MakeLoss")
        if one.arguments.get("normalization", "null") == normalization
    )
    prepared = PreparedCase(case, framework)
    framework.gradients.gradient(case, prepared.call, prepared.differentiated)
    loss = prepared.arguments["data"]
    count = {"null": 1, "valid": (loss.asnumpy() > case.arguments.get("valid_thresh", 0)).sum()}[
        normalization
    ]
    assert 0 < count < loss.size
    np.testing.assert_allclose(loss.grad.asnumpy(), 1 / count, rtol=1e-5)


def test_half_of_a_graph_has_the_edges_between_its_vertices(cases, outputs, framework):
    plain, mapped = cases("_contrib_dgl_subgraph")
    half, numbers = outputs(mapped)
    (alone,) = outputs(plain)
    np.testing.assert_array_equal(alone, half)
    count = len(half)
    graph = PreparedCase(mapped, framework).arguments["data"][0].asnumpy()
    np.testing.assert_array_equal(numbers, graph[:count, :count])
    assert np.count_nonzero(half) > count
