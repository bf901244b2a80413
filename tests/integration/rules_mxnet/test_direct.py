"""Operators that no function of MXNet's can call, and files: what they give is right."""

import math
import os
import re
from pathlib import Path

import numpy as np
import pytest

from opperf.frameworks import load
from opperf.frameworks.mxnet import direct, functions, tensors
from opperf.instruments.prepared import PreparedCase
from opperf.model import Fill, Status, TensorSpec
from opperf.worker.measure import measure


def made(case, name):
    """A case's tensor as it is filled."""
    with load("mxnet").scope(case):
        return PreparedCase(case, load("mxnet")).arguments[name].asnumpy()


def present(*names):
    registered = {name for operator in load("mxnet").operators() for name in operator.names}
    return [name for name in names if name in registered]


@pytest.mark.parametrize("name", present("BatchNorm_v1", "IdentityAttachKLSparseReg"))
def test_an_operator_with_a_state_has_a_gradient_too(cases, name):
    for case in cases(name):
        record = measure(case, load("mxnet"))
        assert record.status is Status.OK, record.reason
        assert record.samples["backward"]


@pytest.mark.parametrize("name", present("BatchNorm_v1"))
def test_the_first_batch_norm_normalises(cases, outputs, name):
    training = [case for case in cases(name) if case.settings.phase == "train"]
    assert training
    for case in training:
        (given,) = outputs(case)
        axes = (0, 2, 3)
        gamma, beta = made(case, "gamma"), made(case, "beta")
        np.testing.assert_allclose(given.mean(axes), beta, atol=1e-4)
        scale = 1.0 if case.arguments["fix_gamma"] else np.abs(gamma)
        np.testing.assert_allclose(given.std(axes), np.broadcast_to(scale, gamma.shape), rtol=1e-2)


def test_the_sparse_regulariser_copies_its_input(cases, outputs):
    for case in cases("IdentityAttachKLSparseReg"):
        np.testing.assert_array_equal(outputs(case)[0], made(case, "data"))


def test_quantised_numbers_are_multiplied(cases, outputs):
    for case in cases("_contrib_quantized_elemwise_mul"):
        product, low, high = outputs(case)
        left, right = (made(case, name).astype(np.int32) for name in ("lhs", "rhs"))
        np.testing.assert_array_equal(product, left * right)
        assert low < 0 < high


def test_zeros_are_told_their_type(cases, outputs):
    for case in cases("_zeros_without_dtype"):
        (given,) = outputs(case)
        assert given.shape == case.arguments["shape"]
        assert given.dtype == np.float32 and not given.any()


@pytest.mark.parametrize("name", present("_sg_onednn_batch_dot"))
def test_the_fused_product_is_the_product(cases, outputs, name):
    fused, plain = cases(name)[0], cases("batch_dot")[0]
    np.testing.assert_allclose(outputs(fused)[0], outputs(plain)[0], rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("name", present("_np_reshape"))
def test_an_operator_without_a_function_is_called_all_the_same(cases, outputs, name):
    (case,) = cases(name)
    (shaped,) = outputs(case)
    (given,) = (spec for _, spec in case.tensors())
    assert shaped.ndim == 3 and shaped.size == math.prod(given.shape)


def test_the_operator_behind_such_a_function_is_known():
    operator = load("mxnet").resolve("IdentityAttachKLSparseReg")
    assert functions.operator_behind(functions.operator_function(operator.name)) is operator
    assert operator.name in direct.MAKERS


def test_a_picture_is_read_as_it_is_decoded(cases, outputs):
    for read, decode in zip(cases("_cvimread"), cases("_cvimdecode"), strict=True):
        np.testing.assert_array_equal(outputs(read)[0], outputs(decode)[0])


def test_a_file_is_there_as_long_as_its_path():
    spec = TensorSpec((3,), "uint8", Fill("literal", data=[7, 8, 9]), "file")
    path = tensors.tensor(spec, "cpu(0)", 0)
    assert re.fullmatch(r"/proc/self/fd/\d+", path)
    assert Path(path).read_bytes() == bytes((7, 8, 9))
    handle = int(path.rpartition("/")[2])
    del path
    with pytest.raises(OSError):
        os.fstat(handle)
