"""Sessions of `opperf ab` made by hand, as files."""

import math

import msgspec
import numpy as np

from opperf.comparison.ab.pairs import usual_id
from opperf.comparison.ab.session_file import SessionWriter
from opperf.history.model import CommitsOf
from opperf.history.store.adding import add_all
from opperf.history.verdicts import JudgedSession, SessionVerdict
from opperf.instruments.instructions import CALLGRIND
from opperf.instruments.profilers.summary import summarise
from opperf.machine.environment import comparability
from opperf.model import Closing, Place, ProcessLine
from opperf.repository import Commit
from opperf.statistics.data import Thresholds
from tests.comparison.ab.sessions import ENVIRONMENT, at, case, ok, session_of
from tests.history.submissions import DAY, sha

SOFTMAX, CONV = (case(name, ("forward",)) for name in ("softmax", "conv2d"))

COUNTED = case("softmax", ("forward",), profiler=CALLGRIND.profiler)

KEY = comparability(ENVIRONMENT)
"""Of the environment of both arms."""

CASES = {made.target.name: usual_id(made) for made in (SOFTMAX, CONV)}
"""Ids as runs have them, by operator."""


def write_session(
    path,
    ratios,
    blocks=4,
    id="session1",
    closed=True,
    noise=0.001,
    control=1.0,
    cap=4,
    environments=None,
):
    """Writes a session of softmax and conv2d, B over A as `ratios` say by the operator's name, and
    A over itself as `control`."""
    session = session_of(
        SOFTMAX, CONV, thresholds=Thresholds(block_cap=cap), environments=environments
    )
    session.header = msgspec.structs.replace(
        session.header, id=id, started="2026-03-01T00:00:00+00:00"
    )
    generator = np.random.default_rng(0)
    places = [("control", block, "ABBA") for block in range(2)]
    places += [("comparison", block, ("ABBA", "BAAB")[block % 2]) for block in range(blocks)]
    with SessionWriter.create(path, session, overwrite=True) as writer:
        for phase, block, arms in places:
            for position, role in enumerate(arms):
                arm = "A" if phase == "control" else role
                place = Place(phase, block, position, arm, role)
                records = []
                for planned in session.cases_of(arm).values():
                    ratio = control if phase == "control" else ratios[planned.target.name]
                    level = 1000.0 * (ratio if role == "B" else 1.0)
                    value = level * math.exp(noise * generator.standard_normal())
                    records.append(at(ok(planned, value), place))
                    writer.store.record(records[-1])
                writer.add(ProcessLine(place, "", 1.0), records)
        if closed:
            writer.close_session(Closing("then", 1.0, {}))
    return path


def write_counts(path, counts):
    """Writes a session of the instructions of softmax in A and B, which has no process of a
    block."""
    session = session_of(COUNTED, kind="counts", environments={})
    with SessionWriter.create(path, session, overwrite=True) as writer:
        for position, (arm, count) in enumerate(zip("AB", counts, strict=True)):
            (planned,) = session.cases_of(arm).values()
            summaries = {CALLGRIND.profiler: summarise([count], CALLGRIND.profiler)}
            made = ok(planned, summaries=summaries, samples={}, environment=ENVIRONMENT.id)
            writer.store.environment(planned, ENVIRONMENT)
            writer.store.record(at(made, Place("counts", 0, position, arm, arm)))
        writer.close_session(Closing("then", 1.0, {"ok": 2}))
    return path


def verdict(verdict, ratio=1.08, a=40, b=41, environment="e0", session="session1", **more):
    """A verdict on the series of `submissions.entry`, of the commits with these numbers."""
    fields = {"operator": "relu", "inputs": "", "blocks": 8, "started": DAY * 100, **more}
    commits = {
        name: Commit(sha(number), position=number, time=DAY * number)
        for name, number in (("a", a), ("b", b))
    }
    return SessionVerdict(
        session=session,
        id="c0",
        metric="forward",
        environment=environment,
        verdict=verdict,
        ratio=ratio,
        low=None if ratio is None else ratio - 0.01,
        high=None if ratio is None else ratio + 0.01,
        **commits,
        **fields,
    )


def judge(store, *verdicts, id="session1", project="p"):
    """Adds a session of these verdicts, and returns how many were new."""
    a, b = verdicts[0].a, verdicts[0].b
    facts = {found.environment: {"hostname": "x"} for found in verdicts}
    session = JudgedSession(id, a, b, verdicts, facts)
    _, (new,) = add_all(store, project, (), [session], CommitsOf.CODE)
    return new
