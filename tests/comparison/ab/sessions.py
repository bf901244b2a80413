"""Sessions made by hand."""

import math

import msgspec

from opperf.comparison.ab.arms import ArmSpec
from opperf.comparison.ab.process import key
from opperf.comparison.ab.session_file import new_session
from opperf.instruments.profilers.summary import summarise
from opperf.machine.pinning import NOT_PINNED
from opperf.model import (
    Case,
    OperatorTarget,
    Place,
    ProcessLine,
    Record,
    Settings,
    Status,
    TensorSpec,
)
from opperf.sources.selecting import Selection
from opperf.sources.varying import with_settings
from opperf.statistics.data import Thresholds
from tests.environments import make_environment

ENVIRONMENT = make_environment("fake")


def case(name, passes=("forward", "backward"), count=1, **settings):
    tensor = TensorSpec((2, 3), gradient=True)
    return Case(
        OperatorTarget("fake", name), {"data": tensor}, Settings(**settings), passes, count=count
    )


def session_of(
    *cases, arms="AB", selection=None, thresholds=None, environments=None, kind="times", **plan
):
    """A session of these cases, in each of the arms; `checks` are those of the second."""
    if "checks" in plan:
        plan["checks"] = {arms[1]: plan["checks"]}
    specs = {arm: ArmSpec(variables={} if arm == arms[0] else {"X": arm}) for arm in arms}
    groups = {
        case.id: [with_settings(case, {"env": spec.variables}) for spec in specs.values()]
        for case in cases
    }
    return new_session(
        groups,
        specs,
        dict.fromkeys(arms, ENVIRONMENT) if environments is None else environments,
        selection or Selection(),
        "opperf ab",
        {},
        kind=kind,
        framework="fake",
        thresholds=thresholds or Thresholds(),
        **plan,
    )


def ok(case, value=1000.0, metrics=("forward", "backward"), **fields):
    """The record of a case whose passes take this many nanoseconds."""
    summaries = {name: summarise([value], "ns") for name in metrics if name in case.passes}
    samples = {name: [value] for name in summaries}
    fields = {"summaries": summaries, "samples": samples, "wall_s": 0.5, **fields}
    return Record(case=case, id=case.id, status=Status.OK, **fields)


def crashed(case, status=Status.CRASHED):
    return Record(case=case, id=case.id, status=status, reason="SIGSEGV")


def at(record, place):
    return msgspec.structs.replace(record, place=place)


def add_replicates(session, replicates):
    """Adds processes whose records have the values of replicates."""
    for one in replicates:
        arm = session.arms[0] if one.phase == "control" else one.arm
        place = Place(one.phase, one.block, one.position, arm, one.arm)
        records = []
        for group, planned in session.cases_of(arm).items():
            times = {
                metric: math.exp(one.values[key(group, metric)])
                for metric in planned.passes
                if key(group, metric) in one.values
            }
            if times:
                summaries = {name: summarise([ns], "ns") for name, ns in times.items()}
                records.append(at(ok(planned, summaries=summaries), place))
        session.add(ProcessLine(place, "", 1.0), records)


class Stub:
    """A worker whose processes do what they are told, operator by operator."""

    def __init__(self, does, arm):
        self.launches, self._does, self._arm = 0, does, arm
        self.cpus = NOT_PINNED

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def launch(self, cpus, options=()):
        """Nothing has to be imported."""

    def environment(self):
        """Has none."""

    def begin_process(self, devices, rehearsed=False):
        self.launches += 1

    def end_process(self):
        """Its next process begins anew."""

    def measure(self, case, results=None, finds_removed_work=True, few=None):
        self.finds_removed_work, self.few = finds_removed_work, few
        return self._does(self, self._arm, case)
