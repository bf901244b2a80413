"""Measures a comparison of implementations to its end, and judges it."""

from __future__ import annotations

from opperf.comparison.ab.session import Session
from opperf.comparison.versus.judging import Versus
from opperf.comparison.versus.plots import write_plot
from opperf.requests.ab.planning import Planned
from opperf.requests.ab.resolving import Watch
from opperf.requests.ab.sessions import Ended, complete
from opperf.requests.declaring import Say, unsaid
from opperf.requests.judging import Judged, judge_implementations
from opperf.requests.versus.beginning import begin
from opperf.requests.versus.request import VersusRequest
from opperf.requests.versus.resolving import resolve
from opperf.results.kept import display


def run(
    request: VersusRequest, say: Say, watch: Watch, command: str
) -> Judged[Versus] | Planned | Ended:
    """Measures a comparison, keeps its file and judges it; of a dry run returns the plan. Raises
    `OpperfError`."""
    quiet_say = unsaid if request.quiet else say
    session = complete(resolve(request, quiet_say, watch, command), begin, say)
    if not isinstance(session, Session):
        return session
    judged = judge_implementations(session, request.fail_on)
    if request.plot is not None:
        write_plot(judged.found, request.plot)
        quiet_say(f"written to {display(request.plot)}")
    return judged
