"""Scripts that reproduce a case make what the case has."""

import mxnet as mx
import numpy as np
import pytest

from opperf.instruments.prepared import PreparedCase
from opperf.model import Case, Fill, OperatorTarget, Settings, TensorSpec
from opperf.worker.answers import script
from tests.integration.mxnet_contents import contents
from tests.script_tensors import assert_script_makes

MIXED = {
    "mp_sgd_update": [("weight", "weight32")],
    "mp_nag_mom_update": [("weight", "weight32")],
    "multi_mp_sgd_mom_update": [("data0", "data3"), ("data4", "data7"), ("data8", "data11")],
}
"""Updates in mixed precision: weights of half precision, and what they are rounded from."""


@pytest.mark.parametrize("name", MIXED)
def test_weights_of_half_precision_are_those_of_full_rounded(cases, framework, name):
    for case in cases(name):
        made = {}
        exec(script(framework, case).partition("\nout = ")[0], made)
        for half, full in MIXED[name]:
            rounded = made[full].asnumpy().astype(np.float16)
            np.testing.assert_array_equal(made[half].asnumpy(), rounded)


DTYPES = ("float16", "float32", "float64", "bfloat16", "int8", "uint8", "int32", "int64", "bool")
SHAPE = (6, 8)
SPECS = {
    "nd": [TensorSpec(SHAPE, dtype) for dtype in DTYPES],
    "np": [TensorSpec(SHAPE, dtype, array_type="np") for dtype in DTYPES],
    "csr": [TensorSpec(SHAPE, dtype, layout="csr") for dtype in ("float32", "float64")],
    "row_sparse": [
        TensorSpec((*SHAPE, 2), "float32", layout="row_sparse"),
        TensorSpec((6,), "float32", Fill("uniform", 1.0, 2.0), "row_sparse"),
    ],
    "file": [TensorSpec(SHAPE, dtype, layout="file") for dtype in ("float32", "uint8")],
    "long": [
        TensorSpec((2, 3, 100_000), "bfloat16"),
        TensorSpec((300, 1000), "float32", Fill("odds", 3, 1), "csr"),
    ],
}


@pytest.mark.parametrize("kind", SPECS)
def test_a_script_makes_the_tensors_that_are_measured(kind, framework):
    case = Case(OperatorTarget("mxnet", "add_n"), {"args": tuple(SPECS[kind])}, Settings(seed=2))
    with framework.scope(case):
        prepared = PreparedCase(case, framework)
        text = framework.recordings.source(case, prepared.arguments, prepared.call)
        assert_script_makes(text, case, prepared.arguments, contents)


LOOPS = {"_foreach": "mx.sym._internal._foreach(", "_cond": "mx.sym._internal._cond("}


@pytest.mark.parametrize("name", LOOPS)
def test_a_script_of_a_loop_has_its_steps(cases, framework, name):
    for case in cases(name):
        text = script(framework, case)
        assert LOOPS[name] in text and "opperf" not in text
        bodies = [v for n, v in case.arguments.items() if n != "data"]
        assert all(f"def {body}(F: Any" in text for body in bodies)
        made = {}
        exec(text, made)
        outputs = made["out"] if isinstance(made["out"], list) else [made["out"]]
        assert all(isinstance(one, mx.nd.NDArray) for one in outputs)
        assert all(tensor.grad is not None for tensor in differentiated(case, made))


def differentiated(case, made):
    specs = case.arguments["data"]
    return [made[f"data{i}"] for i, spec in enumerate(specs) if spec.gradient]
