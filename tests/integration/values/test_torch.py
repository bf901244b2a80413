"""PyTorch's operators, compared with the operations of all frameworks: what a case's call gives is
what the canonical operation makes of its tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from opperf.frameworks import load  # noqa: E402
from opperf.frameworks.torch.synonyms import CANONICAL  # noqa: E402
from opperf.instruments.prepared import PreparedCase  # noqa: E402
from opperf.model import Case  # noqa: E402
from opperf.operations import OPERATIONS  # noqa: E402
from opperf.rules.engine import rules_module  # noqa: E402
from opperf.rules.registering import tables_in  # noqa: E402
from opperf.rules.torch import MODULES  # noqa: E402
from tests.values.comparing import Comparison, planned  # noqa: E402
from tests.values.torch.particular import CONSTANT  # noqa: E402

FRAMEWORK = load("torch")
TABLE = rules_module(FRAMEWORK.rules).OPERATIONS
GROUPS = tables_in(MODULES, "OPERATIONS")
"""By module. Values are tested table by table."""
SYNONYMS = {*CANONICAL, *(name.partition(".")[0] for name in CANONICAL)}
"""Measured under another name, under which they are tested."""


def array(value: Any) -> Any:
    """A tensor as an array in memory of its own; anything else as it is."""
    if not isinstance(value, torch.Tensor):
        return value
    dense = value.detach().to_dense() if value.layout is not torch.strided else value.detach()
    plain = dense.dequantize() if dense.is_quantized else dense
    return plain.resolve_conj().resolve_neg().clone().numpy()


def is_padded(case: Case) -> bool:
    """Whether a tensor is nested, whose sequences the references would have padded."""
    return any(spec.layout in ("nested", "jagged") for _, spec in case.tensors())


def is_in_any_order(case: Case) -> bool:
    """Whether equal elements are sorted, whose order is any where it is not asked to be stable."""
    ties = any(spec.dtype == "int64" for _, spec in case.tensors())
    return case.label in ("argsort", "sort") and ties


def is_to_bfloat16(case: Case) -> bool:
    """Whether the result is bfloat16, which NumPy does not have."""
    return case.arguments.get("dtype") == "bfloat16"


@pytest.fixture(scope="module")
def every_case() -> Mapping[str, Sequence[Case]]:
    return planned(FRAMEWORK)


@pytest.fixture(scope="module")
def comparison(every_case: Mapping[str, Sequence[Case]]) -> Comparison:
    def is_compared(case: Case) -> bool:
        return not (is_padded(case) or is_in_any_order(case) or is_to_bfloat16(case))

    cases = {name: list(filter(is_compared, found)) for name, found in every_case.items()}
    return Comparison(FRAMEWORK, array, cases, CONSTANT, lambda: torch.manual_seed(0))


def test_casts_to_bfloat16_round_to_the_nearest(every_case: Mapping[str, Sequence[Case]]) -> None:
    cast = {
        case.id: case for found in every_case.values() for case in filter(is_to_bfloat16, found)
    }
    assert len(cast) >= 3
    for case in cast.values():
        with FRAMEWORK.scope(case):
            prepared = PreparedCase(case, FRAMEWORK)
            made, own = prepared.call(), prepared.arguments["self"].detach().numpy()
        assert made.dtype == torch.bfloat16
        bits = np.ascontiguousarray(own, np.float32).view(np.uint32)
        # The upper half, of the even neighbour where the lower half is just between two.
        nearest = (bits + 0x7FFF + (bits >> 16 & 1)) & np.uint32(0xFFFF0000)
        np.testing.assert_array_equal(made.detach().float().numpy(), nearest.view(np.float32))


@pytest.mark.parametrize("group", GROUPS)
def test_operators_give_what_their_operations_give(comparison: Comparison, group: str) -> None:
    own = {name: entry for name, entry in GROUPS[group].items() if name not in SYNONYMS}
    wrong = comparison.disagreements(own)
    assert not wrong, "\n\n".join(wrong)


def test_every_use_is_of_a_known_operation() -> None:
    assert {name for entry in TABLE.values() for name in entry.operations} <= set(OPERATIONS)
