"""The command `bisect`."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from opperf.commands.options import command, write
from opperf.errors import INCONCLUSIVE, INTERRUPTED
from opperf.requests.bisecting.request import BisectRequest
from opperf.results.messages import tell

if TYPE_CHECKING:
    from opperf.history.bisection.results import Bisection

EXIT_CODES = {"found": 0, "range": 0, "inconclusive": INCONCLUSIVE, "same": INCONCLUSIVE}
"""By outcome."""


@command(
    BisectRequest,
    examples={
        "A C extension that is built in place": (
            "opperf bisect v1.0 main --ops fastops:total --inputs inputs.py:inputs "
            "-- python setup.py build_ext --inplace"
        ),
        "A package that is built as a wheel, which is installed with NumPy 1": (
            "opperf bisect v1.0 main --ops fastops:total --inputs inputs.py:inputs "
            "--with 'numpy<2' -- python -m build --wheel"
        ),
        "By instructions": (
            "opperf bisect HEAD~30 HEAD --ops fastops:total --inputs inputs.py:inputs "
            "--profiler instructions -- make"
        ),
    },
)
def bisect(request: BisectRequest) -> int:
    """Find the commit of a git repository that made operators slower (or faster): one of those
    after GOOD up to BAD. BUILD, after --, is the command that builds a commit, in a folder of its
    own; one word is a line for the shell.

    Each step measures a commit against GOOD as `opperf ab` does, interleaved in fresh processes. A
    step may be wrong, so that each only makes commits more or less probable; the search ends once
    one has a probability of --confidence. A case that GOOD runs and BAD does not is a change as
    well: the commit that broke it is found.

    The exit code is 0 if a commit was found, or a range of which all others do not build; 3 if GOOD
    and BAD do not differ, or no further step would tell.
    """
    return exit_code(bisected(request))


def exit_code(found: Bisection | None) -> int:
    """Returns the exit code of a bisection; None is an interrupted one."""
    return INTERRUPTED if found is None else EXIT_CODES[found.outcome]


def bisected(request: BisectRequest) -> Bisection | None:
    """Bisects, and writes the report; None, also said, if interrupted."""
    from opperf.history.bisection.report import report_for
    from opperf.requests.bisecting.running import run, watch_of

    found = run(request, tell, watch_of)
    if found is None:
        words = ["opperf", "bisect", "--resume", "--folder", str(request.folder)]
        tell(f"interrupted; resume with: {shlex.join(words)}")
        return None
    write(report_for(found, request.folder), request)
    return found
