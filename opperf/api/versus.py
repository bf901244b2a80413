"""Measures operations in several implementations: `opperf.versus("add", among=["numpy"])`."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from opperf.api.ab import result_of, with_report
from opperf.api.compare import Reported
from opperf.api.run import from_keywords, with_names, words_of
from opperf.api.run_result import DataFrame, RunResult, data_frame
from opperf.comparison.versus.judging import ArmRow, Total, Versus
from opperf.comparison.versus.report import fields
from opperf.reports.fields import objects_of
from opperf.requests.ab.resolving import progress_of
from opperf.requests.ab.sessions import measured
from opperf.requests.declaring import unsaid
from opperf.requests.judging import judge_implementations
from opperf.requests.versus.beginning import begin
from opperf.requests.versus.request import VersusRequest
from opperf.requests.versus.resolving import resolve
from opperf.results.messages import tell


@dataclass(frozen=True)
class Implementations(Reported):
    """A comparison of implementations, which prints as the report of `opperf versus`."""

    found: Versus
    run: RunResult
    """The records of all arms, each with the samples of all processes."""

    @property
    def rows(self) -> tuple[ArmRow, ...]:
        """A row for each arm, pass and row of inputs."""
        return self.found.rows

    @property
    def totals(self) -> tuple[Total, ...]:
        """Each arm over all rows."""
        return self.found.totals

    def to_pandas(self) -> DataFrame:
        """Returns the rows as a data frame of pandas. Raises `ImportError` where that is not
        installed."""
        return data_frame(objects_of(fields(self.found.is_quick), self.rows))


def versus(
    operations: str | Iterable[str],
    among: Iterable[str] = (),
    output: str | os.PathLike[str] | None = None,
    quiet: bool = True,
    **options: Any,
) -> Implementations:
    """Measures operations in several implementations side by side, as `opperf versus` does.

    Parameters
    ----------
    operations : str or list of str
        Canonical operations, or the field's and frameworks' names of them: 'matmul', 'conv2d'.
    among : list of str
        Arms, as 'numpy', 'torch:compile', 'mxnet.np'; by default the installed frameworks.
    output : str or path, optional
        The session's file, to which each process is written as it is measured;
        `opperf versus --resume FILE` finishes it.
    quiet : bool
        False shows the progress, on standard error.
    **options
        Options of `opperf versus`, named as there, with `_` for `-`: `quick`, `size`, `dtype`,
        `shape`, `sweep`, `threads`, `fail_on`, `python`.

    Raises
    ------
    OpperfError
        For names and values that cannot be used, fewer than two arms, and for a file that exists,
        unless `overwrite` is set, or that cannot be written.
    """
    named = (operations,) if isinstance(operations, str) else tuple(operations)
    set_here = {name: value for name, value in options.items() if value is not None}
    given = with_names({**set_here, "among": tuple(among) or None, "quiet": quiet})
    request = from_keywords(VersusRequest, named, given)
    say, watch = unsaid if quiet else tell, progress_of(quiet)
    with with_report(request, output) as asked:
        command = shlex.join(["opperf", "versus", *words_of(asked)])
        session = measured(resolve(asked, say, watch, command), begin)
        judged = judge_implementations(session, asked.fail_on)
        run = result_of(asked.report)
    return Implementations(judged.code, judged.reason, judged.report, judged.found, run)
