"""Comparisons made by hand."""

import msgspec
import pytest

from opperf.comparison.compared import (
    Change,
    ChangeKind,
    ComparedRow,
    Comparison,
    Side,
    geometric_means,
)
from opperf.machine.environment import Difference
from opperf.statistics.data import Verdict

NASTY = (
    "a|b<script>alert('x')</script>&amp;*bold*_em_`code`\\ \x07"
    '</script><script>alert(2)</script><img src=x onerror=alert(1)>"onload=alert(3) '
    "[l](javascript:alert(1)) ![l](//e.org/i.png) ``<img src=x>`` ```\n\n<img src=x>\n"
    "[l](//e.org)\n\u2028--> ]]>"
)
"""Everything that means something to some format."""


def _row(operator="relu", verdict=Verdict.SUSPECT, ratio=1.5, metric="forward", **changed):
    return ComparedRow(
        **(
            {
                "id": f"id-{operator}",
                "operator": operator,
                "inputs": "data: (1024, 1024)",
                "category": "unary",
                "metric": metric,
                "unit": "ns",
                "base": 1e6,
                "new": 1e6 * (ratio or 1.0),
                "verdict": verdict,
                "ratio": ratio,
                "low": ratio and ratio * 0.99,
                "high": ratio and ratio * 1.01,
            }
            | changed
        )
    )


def _comparison(*rows, **changed):
    base = changed.pop("base", Side("base.jsonl", "2025-01-02T03:04:05+00:00", 4))
    new = changed.pop("new", Side("new.jsonl", "2025-01-03T03:04:05+00:00", 4))
    found = Comparison(
        "compare", (base, new), threshold=0.02, rows=rows, groups=geometric_means(rows)
    )
    return msgspec.structs.replace(found, **changed)


MEMORY = {"metric": "memory", "unit": "B", "low": None, "high": None}


@pytest.fixture
def row():
    """Makes a row."""
    return _row


@pytest.fixture
def comparison():
    """Makes a comparison of rows."""
    return _comparison


def compared_files():
    """A comparison in which there is something of everything."""
    return _comparison(
        _row("relu", ratio=1.5),
        _row("exp", Verdict.NO_CLEAR_CHANGE, 1.0),
        _row("log", Verdict.AMBIGUOUS, None, note="3 and 3 samples; at least 6 of each are needed"),
        _row("FullyConnected", Verdict.REGRESSED, 2.0, **MEMORY),
        _row("relu", Verdict.SAME, 1.0, **MEMORY),
        differences=(
            Difference("versions.mxnet", "1.9.1", "2.0.0"),
            Difference("settings.threads", None, 4),
        ),
        changes=(
            Change(ChangeKind.BROKEN, "1", "svd", "A: (4, 4)", reason="crashed: signal 11"),
            Change(ChangeKind.DISAPPEARED, "2", "dot", "lhs: (2, 2)"),
            Change(ChangeKind.DISAPPEARED, "3", "dot", "lhs: (3, 3)"),
            Change(ChangeKind.APPEARED, "4", "gelu", ""),
        ),
        unmeasured=2,
        notes=("Of a time no more can be said.",),
        confirm="opperf ab relu --a python:/path/to/base/python",
    )


@pytest.fixture
def everything():
    return compared_files()


@pytest.fixture
def hostile():
    """A comparison of names that mean something to some format."""
    return _comparison(
        _row(NASTY, inputs=NASTY, note=NASTY),
        differences=(Difference(NASTY, NASTY, NASTY),),
        changes=tuple(
            Change(kind, "1", NASTY, NASTY, reason=NASTY if kind is ChangeKind.BROKEN else "")
            for kind in ChangeKind
        ),
        confirm=f"opperf ab '{NASTY}'",
        fail_on=("suspect", "missing"),
    )
