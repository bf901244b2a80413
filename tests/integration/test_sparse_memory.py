"""Memory of sparse tensors is that of what they store, their gradients' too; and what they store
is what their spec says, in a valid form."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from opperf.instruments.peaks import tensor_bytes
from opperf.model import Fill, Settings, TensorSpec
from opperf.sources.registry import plan
from opperf.sources.selecting import Selection
from opperf.worker.pristine import pristine_server

INDEX, FLOAT = 8, 4
"""Bytes of an index and of an element."""


@pytest.fixture
def peaks(framework):
    """The case of an operator with this layout, or with a gradient of it, and its peaks."""

    def measured(name, layout):
        selection = Selection(patterns=(name,), size="small", settings=Settings(warmup=0, runs=1))
        case = next(
            one
            for one in plan(framework, selection).cases
            if any(layout in (spec.layout, spec.gradient_layout) for _, spec in one.tensors())
        )
        server = pristine_server(framework.name)
        server.begin(case)
        return case, server.peaks(case)

    return measured


def test_a_csr_result_takes_its_elements_and_indices(peaks):
    case, found = peaks("square", "csr")
    (spec,) = (spec for _, spec in case.tensors())
    rows, _ = spec.shape
    assert found.forward == spec.stored * (FLOAT + INDEX) + (rows + 1) * INDEX


def test_a_row_sparse_result_takes_its_rows_and_their_numbers(peaks):
    case, found = peaks("square", "row_sparse")
    (spec,) = (spec for _, spec in case.tensors())
    assert found.forward == spec.stored * (spec.shape[1] * FLOAT + INDEX)


def test_a_row_sparse_gradient_takes_its_rows(framework, peaks):
    case, found = peaks("Embedding", "row_sparse")
    words, width = case.arguments["weight"].shape
    looked_up = case.arguments["data"].size
    output = looked_up * width * FLOAT
    assert found.forward == output
    gradient = found.both - 2 * output
    # No word is looked up twice. MXNet sums the rows in workspace of their size, and numbers
    # those of the whole embedding.
    workspace = looked_up * width * FLOAT + words * INDEX
    assert gradient == looked_up * (width * FLOAT + INDEX) + workspace
    assert gradient < words * width * FLOAT / 10


DENSITIES = [1.0, 0.5, 0.01, 1e-6]
DTYPES = ["float16", "float32", "float64", "int64"]


@pytest.mark.parametrize("density", DENSITIES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_csr_tensor_is_valid_and_as_dense_as_its_spec(framework, density, dtype):
    spec = TensorSpec((64, 70), dtype, Fill("uniform", 1.0, 9.0), "csr", density=density)
    made = framework.tensor(spec, "cpu(0)", 3)
    made.check_format(full_check=True)
    indptr, indices = made.indptr.asnumpy(), made.indices.asnumpy()
    assert len(indices) == spec.stored == max(1, round(64 * 70 * density))
    assert all((np.diff(indices[a:b]) > 0).all() for a, b in zip(indptr, indptr[1:], strict=False))
    assert np.count_nonzero(made.asnumpy()) == spec.stored
    again = framework.tensor(spec, "cpu(0)", 3)
    np.testing.assert_array_equal(made.asnumpy(), again.asnumpy())
    if density < 1:
        assert (made.asnumpy() != framework.tensor(spec, "cpu(0)", 4).asnumpy()).any()
    assert framework.arrays.extents([made])[0].bytes == tensor_bytes(spec)


@pytest.mark.parametrize("density", DENSITIES)
def test_a_row_sparse_tensor_is_valid_and_as_dense_as_its_spec(framework, density):
    fill = Fill("uniform", 1.0, 9.0)
    spec = TensorSpec((100, 3, 2), "float32", fill, "row_sparse", density=density)
    made = framework.tensor(spec, "cpu(0)", 3)
    made.check_format(full_check=True)
    rows = np.flatnonzero(made.asnumpy().any(axis=(1, 2)))
    np.testing.assert_array_equal(rows, made.indices.asnumpy())
    assert len(rows) == spec.stored == max(1, round(100 * density))
    assert framework.arrays.extents([made])[0].bytes == tensor_bytes(spec)


def test_a_block_holds_all_that_is_stored(framework):
    spec = TensorSpec((40, 50), layout="csr", density=0.1, block=(20, 30))
    made = framework.tensor(spec, "cpu(0)", 0).asnumpy()
    assert np.count_nonzero(made[:20, :30]) == np.count_nonzero(made) == 200


@pytest.mark.parametrize("layout", ["csr", "row_sparse"])
def test_the_spec_of_an_array_has_its_density(framework, layout):
    spec = TensorSpec((100, 50), layout=layout, density=0.05)
    described = framework.arrays.describe(framework.tensor(spec, "cpu(0)", 0))
    assert (described.layout, described.density) == (layout, 0.05)
    dense = msgspec.structs.replace(spec, layout="dense", density=1.0)
    assert framework.arrays.describe(framework.tensor(dense, "cpu(0)", 0)).density == 1
