"""The forms that a history is written in."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from opperf.history.export import asv, dashboards, one_run
from opperf.history.export.collecting import Exported, Files


class Form(NamedTuple):
    """A form, and what writes it."""

    write: Callable[[Exported], Files]
    is_folder: bool = False


FORMS = {
    "asv": Form(asv.write, is_folder=True),
    "pytest-benchmark": Form(one_run.write_pytest),
    "github-action-benchmark": Form(dashboards.write_github),
    "bencher": Form(one_run.write_bencher),
    "pytorch": Form(dashboards.write_pytorch),
    "operator-benchmark": Form(one_run.write_operator_benchmark),
}
"""By name. Milabench's layout is not among them: it is of the streams of programs, which a history
does not keep, and `opperf export` writes it of a run."""
