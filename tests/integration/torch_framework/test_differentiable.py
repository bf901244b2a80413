"""What PyTorch's own samples of operators say is differentiable has a gradient here."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict

import pytest

pytest.importorskip("torch")
# PyTorch's samples of operators need it.
pytest.importorskip("expecttest")

from opperf.errors import NoGradientError  # noqa: E402
from opperf.frameworks import load  # noqa: E402
from opperf.frameworks.torch import registry  # noqa: E402
from opperf.instruments.prepared import PreparedCase  # noqa: E402
from opperf.model import Settings  # noqa: E402
from opperf.sources.registry import plan  # noqa: E402
from opperf.sources.selecting import Selection  # noqa: E402

FRAMEWORK = load("torch")

LEAST = 350
"""Operators that are compared, at least."""

OTHERWISE = {"linalg_eig": "of both its results: the phase of an eigenvector is arbitrary"}
"""Operators that PyTorch's samples say are differentiable and whose cases have no gradient, each
with the reason."""


NAMES = """
import json
from torch.testing._internal.common_methods_invocations import op_db
samples = [one for one in op_db if one.supports_autograd]
print(json.dumps([[one.aten_name, one.name.replace(".", "_")] for one in samples]))
"""
"""Prints the names of what PyTorch's samples differentiate. In a process of its own: the module
freezes PyTorch's global flags when it is imported."""


def differentiable() -> set[str]:
    """Names of the operators that PyTorch's samples differentiate."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", NAMES], capture_output=True, text=True, check=True
    )
    named = set()
    for names in json.loads(done.stdout):
        found = [one for name in names if name and (one := registry.find(name)) is not None]
        named |= {
            one.operator.name
            for one in found[:1]
            if one.operator.is_usual and not registry.missing(one.operator, "cpu(0)")
        }
    return named


def without_gradient() -> dict[str, str]:
    """Why the cases of an operator have no gradient, by name; none for one with a gradient."""
    cases = defaultdict(list)
    settings = Settings(profiler="python")
    for case in plan(FRAMEWORK, Selection(size="small", settings=settings)).cases:
        cases[case.target.name].append(case)
    found = {}
    for name, own in cases.items():
        reasons = []
        for case in own:
            with FRAMEWORK.scope(case):
                prepared = PreparedCase(case, FRAMEWORK)
                try:
                    FRAMEWORK.gradients.gradient(case, prepared.call, prepared.differentiated)
                except NoGradientError as error:
                    reasons.append(str(error))
                else:
                    break
        else:
            found[name] = reasons[0]
    planned = {operator.name for operator in FRAMEWORK.operators() if operator.is_usual}
    return {**dict.fromkeys(planned - set(cases), "no case"), **found}


@pytest.mark.sweep
def test_what_pytorch_differentiates_has_a_gradient():
    wanted = differentiable()
    lacking = without_gradient()
    wrong = {name: lacking[name] for name in sorted(wanted & set(lacking))}
    assert {name: why for name, why in wrong.items() if name not in OTHERWISE} == {}
    assert set(OTHERWISE) <= set(wrong)
    assert len(wanted) >= LEAST
