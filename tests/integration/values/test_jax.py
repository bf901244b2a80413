"""JAX's functions, compared with the operations of all frameworks: what a case's call gives is what
the canonical operation makes of its arrays."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")

from opperf.frameworks import load  # noqa: E402
from opperf.frameworks.jax.tensors import is_key  # noqa: E402
from opperf.operations import OPERATIONS  # noqa: E402
from opperf.operations.uses import Table  # noqa: E402
from opperf.rules.engine import rules_module  # noqa: E402
from tests.values.comparing import Comparison, planned  # noqa: E402
from tests.values.jax.particular import CONSTANT, LATER, UNCOMPARED  # noqa: E402

FRAMEWORK = load("jax")
TABLE = rules_module(FRAMEWORK.rules).OPERATIONS

LEAST = {"jnp": 230, "lax": 110, "scipy": 170}
"""Functions that are compared, at least, by the first word of their names."""


@pytest.fixture(autouse=True)
def compiled_calls_take_no_memory():
    """A thousand compiled calls take gigabytes of a process that goes on with other tests."""
    yield
    jax.clear_caches()


def groups() -> dict[str, Table]:
    """Returns the uses by the category of their functions."""
    found: dict[str, Table] = defaultdict(dict)
    for name, entry in TABLE.items():
        if name in UNCOMPARED:
            continue
        operator = FRAMEWORK.resolve(name)
        if operator is None and name in LATER:
            continue
        found["unknown" if operator is None else operator.category][name] = entry
    return dict(sorted(found.items()))


GROUPS = groups()


def array(value: Any) -> Any:
    """An array as one of NumPy's in memory of its own; anything else as it is."""
    if not isinstance(value, jax.Array) or is_key(value):
        return value
    made = np.array(value)
    # Dtypes that NumPy does not have, as bfloat16, are of no kind of its own.
    return made.astype(np.float32) if made.dtype.kind == "V" else made


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return Comparison(FRAMEWORK, array, planned(FRAMEWORK), CONSTANT)


@pytest.mark.sweep
@pytest.mark.parametrize("group", GROUPS)
def test_functions_give_what_their_operations_give(comparison: Comparison, group: str) -> None:
    wrong = comparison.disagreements(GROUPS[group])
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.parametrize("word", LEAST)
def test_enough_functions_are_compared(word: str) -> None:
    names = {one.name for one in FRAMEWORK.operators() if {*one.names} & set(TABLE)}
    assert len([name for name in names if name.startswith(f"{word}.")]) >= LEAST[word]


def test_every_use_is_of_a_known_function_and_operation() -> None:
    assert "unknown" not in GROUPS
    assert {name for entry in TABLE.values() for name in entry.operations} <= set(OPERATIONS)
