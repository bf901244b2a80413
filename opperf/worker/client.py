"""The manager's side of a worker: all that is asked of it, and what a crash or a hang of it is for
each."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from opperf.instruments.visit import CompiledAhead, FewCalls, KeptResults
from opperf.model import Case, Chain, Listing, OperatorTarget, Record
from opperf.models.base import SuiteModel
from opperf.sources.chains import MadeChains
from opperf.sources.operation_cases import OperationCases
from opperf.sources.operation_rows import Row
from opperf.sources.resolving import Resolution, resolve_selection
from opperf.sources.selecting import Selection
from opperf.sources.varying import Axes
from opperf.worker import protocol
from opperf.worker.case_process import CaseProcess, longest_s
from opperf.worker.program import WorkerEnded, WorkerTimeout
from opperf.worker.protocol import Loaded, Observed, Trial

BUILD_TIMEOUT_S = 3600.0
"""Limit on compiling: two hundred snippets of C++ take two minutes on two cores."""


class Worker(CaseProcess, AbstractContextManager["Worker"]):
    """A worker, and all that is asked of it."""

    def resolve(self, axes: Axes) -> Resolution:
        """Returns the axes with the framework's defaults, and canonical names of devices."""
        return self._ask_or_fail(protocol.ResolveRequest(axes=axes))

    def resolve_selection(self, selection: Selection) -> Selection:
        return resolve_selection(selection, self.resolve)

    def operation_cases(
        self, rows: Sequence[Row], selection: Selection, namespace: str = ""
    ) -> OperationCases:
        """Returns rows of operations as cases of the framework's operators."""
        return self._ask_or_fail(protocol.OperationsRequest(tuple(rows), selection, namespace))

    def numerics(self) -> dict[str, str]:
        """Returns the settings of its process that decide how precisely that computes."""
        return self._ask_or_fail(protocol.NumericsRequest())

    def listing(self, paths: tuple[str, ...] = ()) -> Listing:
        return self._ask_or_fail(protocol.ListRequest(paths))

    def choices(self) -> dict[str, tuple[str, ...]]:
        return self._ask_or_fail(protocol.ChoicesRequest())

    def models(self, suite: str, folder: str = "") -> tuple[SuiteModel, ...]:
        """Returns the models that a suite has for the framework."""
        return self._ask_or_fail(protocol.ModelsRequest(suite=suite, folder=folder))

    def check_models(self, cases: Sequence[Case]) -> None:
        """Builds the models of cases. Raises the error of the first that is none."""
        request = protocol.CheckModelsRequest(cases=tuple(cases))
        limit_s = longest_s(cases)
        self._ask_or_fail(request, work="building models", import_timeout_s=limit_s)

    def chains(self, chains: Sequence[Chain], cases: Sequence[Case]) -> MadeChains:
        """Returns the cases of a recorded program's chains, whose calls are among `cases`."""
        request = protocol.ChainsRequest(chains=tuple(chains), cases=tuple(cases))
        return self._ask_or_fail(request)

    def build(self, cases: Sequence[Case]) -> None:
        """Compiles the code of cases, for this and all later processes."""
        request = protocol.BuildRequest(cases=tuple(cases))
        self._ask_or_fail(request, BUILD_TIMEOUT_S, "compiling")

    def uncompiled(self, cases: Sequence[Case]) -> tuple[str, ...]:
        """Returns the ids of the cases that are compiled into a cache which does not have them."""
        return self._ask_or_fail(protocol.UncompiledRequest(cases=tuple(cases)), work="compiling")

    def compile(self, cases: Sequence[Case]) -> dict[str, CompiledAhead]:
        """Compiles cases into a cache, and returns what that took of those that could be."""
        timeout_s = sum(case.settings.timeout_s for case in cases)
        request = protocol.CompileRequest(cases=tuple(cases))
        return self._ask_or_fail(request, timeout_s, "compiling")

    def loaded(self, cases: Iterable[Case]) -> Loaded:
        """Returns the files that its process has loaded for cases that were planned in it."""
        targets = {case.target.key: case.target for case in cases}
        users = [own for own in targets.values() if not isinstance(own, OperatorTarget)]
        return self._ask_or_fail(protocol.LoadedRequest(tuple(users)))

    def scripts(self, cases: tuple[Case, ...]) -> tuple[str, ...]:
        return self._ask_or_fail(protocol.ScriptRequest(cases=cases))

    def trace(
        self, cases: tuple[Case, ...], chrome: str, execution: str, least_s: float = 0.0
    ) -> dict[str, str]:
        """Writes traces of the cases to these files, and returns those that could not be called.
        Each is called once, or for `least_s` seconds."""
        request = protocol.TraceRequest(cases, chrome, execution, least_s)
        timeout_s = sum(case.settings.timeout_s + least_s for case in cases)
        return self._ask_or_fail(request, timeout_s, "tracing")

    def alternate(
        self,
        cases: Sequence[Case],
        draw: str,
        results: Mapping[str, KeptResults],
        finds_removed_work: bool = True,
        few: FewCalls | None = None,
    ) -> tuple[Record, ...]:
        """Returns the records of cases whose calls alternate; a crash or a hang is the status of
        all. `draw` is the seed of the orders; the rest is that of `measure`, `results` by case."""
        started = time.monotonic()
        try:
            self._start_used()
            request = protocol.AlternateRequest(
                cases=tuple(cases),
                results=tuple(results.get(case.id) for case in cases),
                few=few,
                finds_removed_work=finds_removed_work,
                draw=draw,
            )
            return self._ask(request, sum(case.settings.timeout_s for case in cases))
        except WorkerEnded as ended:
            status, reason = ended.status, ended.reason("raise --timeout")
        wall_s = (time.monotonic() - started) / len(cases)
        return tuple(
            Record(case=case, id=case.id, status=status, reason=reason, wall_s=wall_s)
            for case in cases
        )

    def try_call(self, case: Case, timeout_s: float) -> Trial:
        """Returns the result of one call of a case; a crash, or a hang beyond these seconds or the
        user's limit, is a refusal. A crash of a process that has run other cases may be theirs: the
        call is tried again in a new process."""
        limit_s = min(timeout_s, case.settings.timeout_s)
        for has_run in (self._use == "used" and self._is_running(), False):
            try:
                self._start_used()
                return self._ask(protocol.TryRequest(case=case), limit_s)
            except WorkerEnded as ended:
                trial = Trial(refusal=str(ended), ended=True)
                if not has_run or isinstance(ended, WorkerTimeout):
                    break
        return trial

    def observe(self, case: Case, folder: Path, draw: int = 0, calls: int | None = 0) -> Observed:
        """Returns the results of untimed calls of a case, whose elements are in files of an empty
        folder; a crash or a hang is a refusal. Random numbers are the same for the same `draw`.
        `calls` are those after the first, as `ObserveRequest` has them."""
        try:
            self._start_used()
            request = protocol.ObserveRequest(
                case=case, folder=str(folder.resolve()), draw=draw, calls=calls
            )
            return self._ask(request, case.settings.timeout_s)
        except WorkerEnded as ended:
            return Observed(refusal=str(ended))
