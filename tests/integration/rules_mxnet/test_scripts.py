"""Scripts that reproduce a case make what the case has."""

import mxnet as mx
import numpy as np
import pytest

from opperf.runner.listing import script

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
