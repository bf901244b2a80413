"""Every sparse kernel of MXNet has a case, and no case of a sparse tensor runs without one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from opperf.frameworks import Framework
from opperf.rules.mxnet import sparse, sparse_updates

SCRIPT = Path(__file__).with_name("storage_fallback.py")

CONTROL = "exp"
"""The operator of the script's control."""

LETTERS = {"dense": "d", "csr": "C", "row_sparse": "R"}

FEWEST = 95
"""Operators that this build runs with a sparse tensor, at least, as found by trying."""

WITHOUT_CASE = {
    "the kernel of the opposite order, of which there is a case": {
        "broadcast_add": {"dC"},
        "broadcast_sub": {"dC"},
        "elemwise_add": {"dC", "dR"},
        "elemwise_mul": {"dC", "dR"},
        "elemwise_sub": {"dC", "dR"},
    },
    "divides by what is not stored, which is zero, or raises to that power": {
        "_power": {"RR", "dC", "dR"},
        "_scatter_elemwise_div": {"RC", "RR"},
        "elemwise_div": {"RR", "dC", "dR"},
    },
    "a part of a kernel for row-sparse weights and bias, of which there is a case": {
        "FullyConnected": {"dRd", "ddR"}
    },
    "only in graphs: a gradient like a dense weight": {
        "_identity_with_attr_like_rhs": {"Cd", "Rd", "dC", "dR", "CR", "RC"}
    },
    "made dense by oneDNN's own fallback, without a message": {"softmax": {"RR", "Rd", "dR"}},
    "no sparse kernel: the stored values are read as if they were the whole tensor": {
        "CTCLoss": {"dC", "dR"},
        "_contrib_edge_id": {"CRR", "CRd", "CdR"},
        "_cvimdecode": {"R"},
        "_onehot_encode": {"RR", "Rd", "dR"},
        "fill_element_0index": {"RRR", "RRd", "RdR", "Rdd", "dRR", "dRd", "ddR"},
    },
    "the bounds of a range, of one number each": {
        "_contrib_dequantize": {"dRR", "dRd", "ddR"},
        "_contrib_quantize": {"dRR", "dRd", "ddR"},
        "_contrib_quantized_act": {"dRR", "dRd", "ddR"},
        "_contrib_quantized_pooling": {"dRR", "dRd", "ddR"},
        "_contrib_requantize": {"dRR", "dRd", "ddR"},
    },
    "runs a function of Python, whatever its inputs": {"_CustomFunction": {"C", "R"}},
}
"""Why combinations of layouts that do not fall back have no case."""


def lines(kind: str) -> list[dict[str, Any]]:
    """Returns what the script printed of its calls."""
    done = subprocess.run(
        [sys.executable, str(SCRIPT), kind], capture_output=True, text=True, check=True
    )
    # Some operators print as well.
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def pattern(line: dict[str, Any]) -> str:
    """Returns a letter for the layout of each argument, without an output of its own."""
    named = line["layouts"].items()
    return "".join(LETTERS.get(layout, "?") for name, layout in named if name != "out")


@pytest.fixture(scope="module")
def called() -> list[dict[str, Any]]:
    return lines("planned")


@pytest.fixture(scope="module")
def planned(called: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [line for line in called if line["operator"] != CONTROL]


def test_cases_of_sparse_tensors_do_not_fall_back(planned: list[dict[str, Any]]) -> None:
    assert not [line for line in planned if "refused" in line]
    assert not [line for line in planned if line["forward"] or line.get("backward")]


def test_those_that_request_a_gradient_have_one(planned: list[dict[str, Any]]) -> None:
    assert not [line for line in planned if "no gradient" in line]


def test_every_family_of_sparse_tensors_has_a_case(
    framework: Framework, planned: list[dict[str, Any]]
) -> None:
    names = {operator.name: set(operator.names) for operator in framework.operators()}
    called = set().union(*(names[line["operator"]] for line in planned))
    registered = set().union(*names.values())
    modules = (sparse, sparse_updates)
    families = {name for module in modules for name in module.FAMILIES.further}
    assert (families & registered) - called == set()


@pytest.mark.sweep
def test_layouts_that_do_not_fall_back_have_a_case(planned: list[dict[str, Any]]) -> None:
    found: dict[str, set[str]] = {}
    for line in lines("tried"):
        if "layouts" in line and not line["forward"]:
            found.setdefault(line["operator"], set()).add(pattern(line))
    assert len(found) >= FEWEST
    for line in planned:
        found.get(line["operator"], set()).discard(pattern(line))
    for reason in WITHOUT_CASE.values():
        for name, patterns in reason.items():
            found.get(name, set()).difference_update(patterns)
    assert {name: sorted(left) for name, left in found.items() if left} == {}


def test_the_check_sees_a_tensor_that_is_made_dense(called: list[dict[str, Any]]) -> None:
    made = [line for line in called if line["operator"] == CONTROL]
    assert {pattern(line): line["forward"] for line in made} == {"R": [CONTROL], "C": [CONTROL]}
