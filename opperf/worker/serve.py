"""A worker process: imports one framework, then answers requests to plan and to measure.

`opperf.worker.serve FRAMEWORK SETTINGS [MEMORY] [FORKS]`, started by `launch.py`, reads requests
from standard input and writes responses to what was its standard output; the framework's own output
goes to standard error. With `MEMORY`, it begins with a fork that measures memory, if the framework
needs one for that; with `FORKS`, a request for a fork, it imports what such forks would.

A fork of a worker answers requests in its place, with the same standard input and output, while its
parent waits for its end. If the fork crashes, so does its parent, in the same way.
"""

from __future__ import annotations

import contextlib
import gc
import os
import random
import sys
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from opperf import errors
from opperf.frameworks import Framework, load
from opperf.frameworks.base import CPU
from opperf.frameworks.user_modules import Imports, import_module, loaded_for
from opperf.instruments.prepared import NOTHING_BOUND
from opperf.instruments.profilers import find_profilers
from opperf.instruments.profilers.python import overhead_ns
from opperf.instruments.profilers.summary import summarise
from opperf.instruments.visit import Conditions
from opperf.machine.environment import environment
from opperf.machine.kernel import THREAD_VARIABLES, resolution_ns
from opperf.metrics import instruments_of, process_settings
from opperf.model import Case, Record, Role, Settings, Status
from opperf.models.base import SuiteModel, models_of
from opperf.processes.channel import Answer, Channel, Refusal, decoder_of
from opperf.processes.children import adopt_orphans, channel_of_child, end_like, fork
from opperf.rules.engine import rules_module
from opperf.sources.chains import chain_cases
from opperf.sources.choices import choices
from opperf.sources.completing import complete
from opperf.sources.operation_cases import operation_cases
from opperf.sources.registry import plan
from opperf.sources.resolving import resolve
from opperf.worker import protocol
from opperf.worker.answers import (
    build_cases,
    compile_cases,
    list_operators,
    loaded,
    scripts,
    trace,
    try_call,
    uncompiled,
)
from opperf.worker.binding import check_models
from opperf.worker.call_outputs import observe
from opperf.worker.measure import measure, measure_in_turn
from opperf.worker.pristine import PristineMeter, configure_heap, start_pristine_server
from opperf.worker.process_state import Left, ProcessState, seed_afresh

IMPORTS: dict[str, Role] = {}
"""Users' modules that this process has imported at its start."""


def measure_case(
    framework: Framework,
    request: protocol.MeasureRequest,
    keep: Callable[[Record], object] = lambda record: None,
    settle: Callable[[Case], Left] = lambda case: Left(),
) -> Record:
    """Returns the record of a case, which `keep` gets before what may end this process. `settle`
    restores what the case has left changed."""
    case = request.case
    seed_afresh()
    try:
        record = measure(
            case,
            framework,
            conditions=Conditions(
                PristineMeter(NOTHING_BOUND),
                request.reference_work,
                Path(request.profiles) if request.profiles else None,
                keep,
                request.rehearsed,
                request.results,
                request.finds_removed_work,
                request.ahead,
                request.few,
            ),
        )
    except Exception as error:
        # A fault of opperf in one case must not end the run.
        reason = errors.one_line(f"{type(error).__name__}: {error}")
        print(traceback.format_exc(), file=sys.stderr)
        record = Record(case=case, id=case.id, status=Status.FAILED, reason=reason)
    # A fault in a backward pass may have left a record that is ok, too.
    end_without(framework, case.settings.device)
    note = settle(case).note
    notes = record.notes if note is None else (*record.notes, note)
    return msgspec.structs.replace(record, notes=notes, loaded=loaded_for(case.target))


def measure_cases(
    framework: Framework,
    request: protocol.AlternateRequest,
    settle: Callable[[Case], Left] = lambda case: Left(),
) -> tuple[Record, ...]:
    """Returns the records of cases whose calls alternate."""
    seed_afresh()
    every = [
        Conditions(
            PristineMeter(NOTHING_BOUND),
            rehearsed=True,
            results=results,
            finds_removed_work=request.finds_removed_work,
            few=request.few,
        )
        for results in request.results
    ]
    records = measure_in_turn(request.cases, framework, every, random.Random(request.draw))
    end_without(framework, request.cases[0].settings.device)
    settle(request.cases[0])
    return tuple(
        msgspec.structs.replace(record, loaded=loaded_for(record.case.target)) for record in records
    )


UNUSABLE = 1
"""Exit code of a process that ends because it can use its device no longer."""


def end_without(framework: Framework, device: str) -> None:
    """Ends this process if it can no longer use the device. After a fault of a kernel, as an index
    out of range, CUDA fails each later call of the process; a new process can use the device."""
    if not framework.queues.is_asynchronous(device):
        return
    # The first wait may raise what the failed case left in the queue, which the second does not.
    with contextlib.suppress(Exception):
        framework.synchronize(device)
    try:
        framework.synchronize(device)
    except Exception as error:
        reason = errors.one_line(str(error))
        print(f"{device} cannot be used after this case: {reason}", file=sys.stderr, flush=True)
        # Without the framework's own end, which waits for the device and may abort.
        os._exit(UNUSABLE)


def list_models(framework: Framework, suite: str, folder: str) -> tuple[SuiteModel, ...]:
    """Returns the models that a suite has for a framework."""
    return models_of(suite, framework.name, folder)


def numerics(framework: Framework) -> dict[str, str]:
    """Returns the settings of this process that decide how precisely it computes."""
    threads = framework.processes.threads() or os.environ.get(THREAD_VARIABLES[0])
    return {"threads": str(threads or "its choice"), **framework.processes.numerics()}


ANSWERS: dict[type, Callable[..., object]] = {
    protocol.PlanRequest: plan,
    protocol.OperationsRequest: operation_cases,
    protocol.NumericsRequest: numerics,
    protocol.ResolveRequest: resolve,
    protocol.ListRequest: list_operators,
    protocol.ChoicesRequest: choices,
    protocol.ModelsRequest: list_models,
    protocol.CheckModelsRequest: check_models,
    protocol.CompleteRequest: complete,
    protocol.ChainsRequest: chain_cases,
    protocol.BuildRequest: build_cases,
    protocol.UncompiledRequest: uncompiled,
    protocol.CompileRequest: compile_cases,
    protocol.ScriptRequest: scripts,
    protocol.TraceRequest: trace,
    protocol.ObserveRequest: observe,
    protocol.TryRequest: try_call,
    protocol.LoadedRequest: partial(loaded, imports=IMPORTS),
}
"""Functions of the framework and a request's fields, by their names."""


def answer(framework: Framework, request: Any) -> object:
    """Returns the answer to a request that measures nothing."""
    fields = {name: getattr(request, name) for name in request.__struct_fields__}
    return ANSWERS[type(request)](framework=framework, **fields)


def load_framework(name: str, settings: Settings) -> Framework:
    """Returns a framework that is imported, and set up by the settings of its process. Raises the
    errors of `load`, `import_operators` and the framework's options."""
    configure_heap(name)
    framework = load(name)
    if settings.threads is not None:
        framework.processes.set_threads(settings.threads)
    for module in settings.imports:
        IMPORTS[module] = import_operators(module, framework)
    for option, text in settings.options.items():
        framework.processes.option(option, text)()
    return framework


CALLS = (protocol.TryRequest, protocol.ObserveRequest)
"""Requests for calls of a case that is not measured."""


class Server:
    """Answers requests in this process or in a fork of it."""

    def __init__(self, channel: Channel, settings: Settings, measures_memory: bool) -> None:
        self._channel, self._settings = channel, settings
        self._measures_memory = measures_memory
        self._state: ProcessState | None = None
        self._adopts = False
        self._is_spoiled = False
        """Whether something that cannot be restored was left changed."""
        # Before the forks, as it is theirs too.
        decoder_of(protocol.AnyRequest)

    def start(self, framework_name: str, forks: protocol.ForkRequest | None = None) -> None:
        """Imports the framework, prepares forks, and answers requests until there are no more."""
        Imports.watch = self._importing
        try:
            framework = load_framework(framework_name, self._settings)
            self._begin_process(framework)
            if forks is not None and all(map(framework.processes.supports_fork, forks.devices)):
                prepare_forks(framework, self._settings, forks.rehearsed)
            where = environment(framework, configure_heap(framework.name))
            ready = Answer.of(where)
        except Exception as error:
            self._channel.send(Refusal.of(error))
            return
        self._channel.send(ready)
        self._answer_requests(framework)

    def _begin_process(self, framework: Framework) -> None:
        # Only a CPU can be used in a fork.
        if self._measures_memory and framework.memory.keeps_workspace(CPU):
            start_pristine_server(framework)

    @contextlib.contextmanager
    def _importing(self, name: str) -> Iterator[None]:
        """Tells the manager that a user's module is imported, and keeps what it sets up."""
        self._channel.send(protocol.Importing(name))
        try:
            with contextlib.nullcontext() if self._state is None else self._state.importing():
                yield
        finally:
            self._channel.send(protocol.Importing(""))

    def _answer_requests(self, framework: Framework) -> None:
        state = self._state = ProcessState(framework)

        def settle(case: Case | None = None) -> Left:
            left = state.settle(case)
            self._is_spoiled = self._is_spoiled or bool(left.lost)
            return left

        def keep(record: Record) -> None:
            self._channel.send(protocol.Kept(record))

        for line in self._channel.lines():
            state.begin()
            response: Answer | Refusal
            try:
                request: protocol.AnyRequest = decoder_of(protocol.AnyRequest).decode(line)
                if isinstance(request, protocol.EndRequest):
                    return
                if isinstance(request, protocol.ForkRequest):
                    response = self._fork(framework, request)
                elif isinstance(request, protocol.MeasureRequest):
                    self._check(request.case)
                    if not self._adopts:
                        # Not in a process that is forked, which awaits its forks alone.
                        adopt_orphans()
                        self._adopts = True
                    record = measure_case(framework, request, keep, settle)
                    response = Answer.of(record, self._is_spoiled)
                elif isinstance(request, protocol.AlternateRequest):
                    records = measure_cases(framework, request, settle)
                    response = Answer.of(records, self._is_spoiled)
                else:
                    found = answer(framework, request)
                    settle(request.case if isinstance(request, CALLS) else None)
                    response = Answer.of(found, self._is_spoiled)
            except Exception as error:
                settle()
                response = Refusal.of(error)
            self._channel.send(response)

    def _check(self, case: Case) -> None:
        wanted = process_settings(case.settings)
        if wanted != self._settings:
            asked, own = map(msgspec.json.encode, (wanted, self._settings))
            raise errors.WorkerError(
                f"{case.label} needs a process with {asked.decode()}, and this one was started with"
                f" {own.decode()}; if an instrument of another package is for that, install it in "
                "both environments"
            )

    def _fork(self, framework: Framework, request: protocol.ForkRequest) -> Answer:
        """Has a fork answer requests if the devices support it, and returns the answer that comes
        after its last one. If it crashes, this process ends in the same way."""
        if not all(map(framework.processes.supports_fork, request.devices)):
            return Answer.of(False)
        prepare_forks(framework, self._settings, request.rehearsed)

        def run() -> None:
            # As in a new process; Python's own generator does that by itself.
            np.random.seed()
            self._begin_process(framework)
            self._channel.send(Answer.of(True))
            self._answer_requests(framework)

        child = fork(run)
        _, status = os.waitpid(child, 0)
        for instrument in instruments_of(self._settings):
            instrument.fork_ended(child)
        if status:
            end_like(status)
        return Answer.of(None)


def import_operators(name: str, framework: Framework) -> Role:
    """Imports a user's module, and returns its role: measured if it registers an operator. Raises
    the errors of `import_module`, and `UsageError` if it registers no rule either."""
    families = rules_module(framework.rules).FAMILIES
    before, rules_before = framework.operators(), families.count
    with framework.naming.importing():
        import_module(name)
    if framework.operators() != before:
        return Role.MEASURED
    if families.count == rules_before:
        raise errors.UsageError(
            f"--import {name}: the module registers no operator with {framework.name}, and no "
            "rule for one"
        )
    return Role.PART


def prepare_forks(framework: Framework, settings: Settings, rehearsed: bool) -> None:
    """Does once what each fork would do before its first sample. Runs no operator: a fork lacks the
    threads that the framework starts for one."""
    resolution_ns()
    for waits in (False, True):
        overhead_ns(waits)
    find_profilers(framework)
    framework.processes.prepare_forks(rehearsed)
    framework.operators()
    summarise([1.0], "ns")
    for instrument in instruments_of(settings):
        # Whatever it raises it does again where a case is measured, which has it in its record.
        with contextlib.suppress(Exception):
            instrument.prepare(framework)
    # Imported objects stay, so that forks look for garbage only among those they made.
    gc.freeze()


def main() -> None:
    """Serves on standard input and output."""
    channel = channel_of_child()
    framework_name, given, *options = sys.argv[1:]
    settings = msgspec.json.decode(given, type=Settings)
    measures_memory = protocol.MEMORY in options
    asked = [option for option in options if option != protocol.MEMORY]
    forks = msgspec.json.decode(asked[0], type=protocol.ForkRequest) if asked else None
    Server(channel, settings, measures_memory).start(framework_name, forks)


if __name__ == "__main__":
    main()
