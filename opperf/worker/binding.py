"""Objects that cases need beside their arguments, made in the process that measures them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from opperf.decoding import place_in
from opperf.errors import OpperfError, UnsupportedError, UsageError
from opperf.frameworks import Framework
from opperf.frameworks.models import Model, RunnableModel, read_model
from opperf.frameworks.user_code import parameters_of
from opperf.instruments.prepared import NOTHING_BOUND, Bound, reason_of
from opperf.model import (
    CallableTarget,
    Case,
    FileTarget,
    ModelTarget,
    TraceTarget,
    split_positional,
)
from opperf.models.base import Options, find_suite, lacking
from opperf.sources.replays import read_sequence
from opperf.worker.replaying import RankedReplay

INPUTS = "example_inputs"
"""Attribute or method of a class of models that has the inputs of an object."""


def bound_of(case: Case, framework: Framework, bound: Bound = NOTHING_BOUND) -> Bound:
    """Returns the objects that a case needs: of a replay its sequence, of a model the model, ready
    to be called; the caller's of any other. To be called in the case's scope. Raises
    `UnsupportedError` and `UsageError`."""
    target = case.target
    if isinstance(target, ModelTarget):
        make = partial(runnable_model, framework=framework)
        return Bound(function=make(case), make=make)
    if not isinstance(target, TraceTarget):
        return bound
    if target.ranks > 1:
        return Bound(function=RankedReplay(case, target, framework))
    return Bound(function=framework.recordings.replay(case, read_sequence(framework, target)))


def runnable_model(case: Case, framework: Framework) -> RunnableModel:
    """Returns a case's model with its inputs. Raises `UnsupportedError` and `UsageError`."""
    # It imports NumPy, which planning does without.
    from opperf.instruments.call_results import seed_all

    # Of the user's function, which may draw of any of them.
    seed_all(framework, case.settings.seed)
    return framework.objects.model(case, build_model(case, framework))


def build_model(case: Case, framework: Framework) -> Model:
    """Returns the model that a suite or a user's function builds. Raises `UsageError`."""
    target, settings = case.target, case.settings
    assert isinstance(target, ModelTarget)
    if not target.suite:
        return _users_model(target, framework)
    suite = find_suite(target.suite)
    options = Options(
        size=target.size,
        batch_size=target.batch_size,
        phase=settings.phase,
        seed=settings.seed,
        device=settings.device,
        dtype=settings.dtype,
        folder=target.folder,
    )
    try:
        return suite.build(framework.name, target.name, options)
    except ImportError as error:
        raise UnsupportedError(lacking(target.suite, suite, error)) from error


def check_models(framework: Framework, cases: Iterable[Case]) -> None:
    """Builds the models of cases, and reads what is returned. Raises `UsageError` for one that does
    not import, cannot be built or is no model."""
    for case in cases:
        framework.processes.seed(case.settings.seed)
        try:
            build_model(case, framework)
        except OpperfError:
            raise
        except Exception as error:
            assert isinstance(case.target, ModelTarget)
            where = _place(case.target)
            at = place_in(error, case.target.file) if case.target.file else where
            reason = reason_of(error, framework)
            raise UsageError(f"{at}: {where} cannot be built: {reason}") from error


def _place(target: ModelTarget) -> str:
    return f"{target.file}:{target.name}" if target.file else target.name


def _users_model(target: ModelTarget, framework: Framework) -> Model:
    where = _place(target)
    function = framework.function(
        FileTarget(framework.name, target.file, target.name)
        if target.file
        else CallableTarget(framework.name, target.name)
    )
    unnamed, named = split_positional(target.arguments)
    known = parameters_of(function, bound=0)
    given: dict[str, Any] = {
        **({"size": target.size} if target.size != "default" else {}),
        **({} if target.batch_size is None else {"batch_size": target.batch_size}),
    }
    for name in given:
        if name not in known:
            raise UsageError(f"{where} has no argument {name}; omit --{name.replace('_', '-')}")
    made = function(*unnamed, **named, **given)
    if isinstance(function, type):
        if not hasattr(made, INPUTS):
            raise UsageError(
                f"{where} has no inputs: give the class a method {INPUTS}(), or name a function "
                "that returns (model, inputs)"
            )
        inputs = getattr(made, INPUTS)
        made = (made, inputs() if callable(inputs) else inputs)
    return read_model(made, where)
