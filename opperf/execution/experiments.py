"""Plans experiments: from models, axes and rules to the cases that are measured, in their order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import msgspec

from opperf.dtypes import DTYPES
from opperf.errors import (
    DeviceError,
    OpperfError,
    UnknownOperatorError,
    UnsupportedError,
    UsageError,
    suggest,
)
from opperf.execution.case_source import Asked, Planned, Say
from opperf.execution.planning import RegistrySource, framework_axes
from opperf.execution.workers import Workers
from opperf.frameworks.user_modules import SEARCHED
from opperf.model import MAPPINGS, Case, Interpreter, ModelTarget, Settings
from opperf.models.base import SIZES, SuiteModel, available, find_suite
from opperf.models.packages import Filter
from opperf.plurals import pluralize
from opperf.sources.model_matrix import (
    RULES,
    Experiment,
    Matrix,
    Removed,
    Settled,
    apply_rules,
    experiments,
)
from opperf.sources.models import Candidate, of_suite, of_user
from opperf.sources.registry import Plan
from opperf.sources.selecting import Selection
from opperf.sources.varying import Axes, with_dtype_options, with_settings
from opperf.worker.client import Worker

FOREIGN_MODES = {
    "compile": "torch",
    "graph": "torch",
    "hybridize": "mxnet",
    "jit": "jax",
    "script": "torch",
    "xla": "torch",
}
"""Modes that one framework has, by name: with another they are removed, and not misspelt."""


class Place(NamedTuple):
    """A framework in an environment, what of the axes it has and what it lacks."""

    framework: str
    python: str
    worker: Worker
    axes: Axes
    """The axes with its own defaults and names of devices, those that it lacks among them."""
    lacking: dict[tuple[str, str], str]
    devices: dict[str, str]
    """Its names of the devices that are asked for."""

    def usable(self) -> Axes:
        """Returns the axes without the values that it lacks."""
        return {
            name: tuple(value for value in values if (name, str(value)) not in self.lacking)
            for name, values in self.axes.items()
        }


MATRIX, REMOVED = "matrix", "removed"
"""Keys of a header's options: models and axes, and the cases that each rule removed."""


@dataclass(frozen=True)
class Models:
    """The product of models and axes, without what rules remove; also operators and files."""

    matrix: Matrix
    program = "experiment"
    groups = False
    compiles_ahead = False
    is_forecast = True
    repeats = True

    def find(self, asked: Asked) -> Planned:
        """Returns the experiments, and says what rules removed. Raises `UsageError` for an unknown
        value of an axis, a model that cannot be built, and if nothing is left."""
        matrix, selection, workers = self.matrix, asked.selection, asked.workers
        selected = Filter(matrix)
        found: list[Experiment] = []
        plans: list[Plan] = []
        names: list[str] = []
        for place in _places(asked, matrix):
            of_files = asked.files if place.framework == matrix.frameworks[0] else ()
            candidates = list(_models(place, matrix, asked.say))
            names += (candidate.listed.name for candidate in candidates)
            own = [
                candidate
                for candidate in candidates
                if candidate.is_missing or selected.selects(candidate.listed)
            ]
            _check_users(workers, place, own, matrix, selection)
            found += _of_models(place, own, matrix, selection)
            for size in matrix.sizes if selection.patterns or of_files else ():
                sized = msgspec.structs.replace(selection, size=size)
                here = replace(asked, selection=sized, files=of_files)
                plan, others = _of_operators(place, matrix, here)
                plans.append(plan)
                # Cases of files are of the size that they have.
                of_files = ()
                names += (case.label for case in plan.cases)
                found += (made for made in others if selected.selects_name(made.case.label))
        cases, removed = apply_rules(found, RULES if matrix.applies_rules else ())
        _check_any(cases, removed, names)
        for removal in removed:
            asked.say(removal.text())
        plan = Plan(
            cases=tuple(cases),
            excluded={name: why for plan in plans for name, why in plan.excluded.items()},
            earlier=tuple(record for plan in plans for record in plan.earlier),
        )
        counts = {removal.rule: removal.cases for removal in removed}
        return Planned(plan, asked.axes, {MATRIX: matrix, REMOVED: counts})


def _places(asked: Asked, matrix: Matrix) -> Iterator[Place]:
    workers, imports = asked.workers, asked.selection.settings.imports
    for framework in matrix.frameworks:
        for python in labels_of(workers.interpreters, framework):
            yield examine(workers, framework, python, imports, matrix, asked.axes)


def labels_of(interpreters: Iterable[Interpreter], framework: str) -> tuple[str, ...]:
    """Returns the labels of the interpreters that a framework has; empty for opperf's own."""
    labels = [
        interpreter.label
        for interpreter in interpreters
        if interpreter.framework in ("", framework)
    ]
    return tuple(dict.fromkeys(labels)) or ("",)


def examine(
    workers: Workers,
    framework: str,
    python: str,
    imports: tuple[str, ...],
    matrix: Matrix,
    axes: Axes,
) -> Place:
    """Returns a framework with what it lacks. Raises `UsageError` for what no framework has."""
    path = _first_path(axes)
    worker = workers.of(framework, Settings(python=python, imports=imports, env=path))
    by_words = _axes_of_words(matrix)
    lacking: dict[tuple[str, str], str] = {}
    resolved: Axes = dict(worker.resolve({}).axes)
    devices: dict[str, str] = {}
    for name, values in {**framework_axes(axes), **by_words}.items():
        own = []
        for value in values:
            try:
                found = worker.resolve({name: (value,)}).axes[name][0]
            except OpperfError as error:
                if name not in by_words and not _is_elsewhere(framework, name, value, error):
                    raise
                found = value
                lacking[name, str(value)] = _reason(framework, name, value, error)
            own.append(found)
            if name == "device":
                devices[value] = found
        # Options are dicts, which are no keys.
        resolved[name] = tuple(own) if name in MAPPINGS else tuple(dict.fromkeys(own))
    found_axes = {**axes, **resolved, "python": (python,)}
    return Place(framework, python, worker, found_axes, lacking, devices)


def _axes_of_words(matrix: Matrix) -> Axes:
    """Returns the devices and modes that PyTorch/XLA's words mean, if any is used."""
    if not matrix.words:
        return {}
    points = [point.settings for point in experiments(matrix, {})]
    return {
        name: tuple(dict.fromkeys(point[name] for point in points)) for name in ("device", "mode")
    }


def _reason(framework: str, name: str, value: Any, error: OpperfError) -> str:
    if isinstance(error, (DeviceError, UnsupportedError)):
        return str(error).partition("; ")[0]
    return f"{framework} has no {name.replace('_', ' ')} {value}"


def _is_elsewhere(framework: str, name: str, value: Any, error: OpperfError) -> bool:
    """Whether another framework or machine has a value: it is no typing error."""
    if isinstance(error, DeviceError):
        return True
    if name == "mode":
        return FOREIGN_MODES.get(str(value).partition(":")[0], framework) != framework
    return name in ("dtype", "autocast") and value in DTYPES


def _models(place: Place, matrix: Matrix, say: Say) -> Iterator[Candidate]:
    """Yields the models that the words name; of a suite whose package is missing one that stands
    for all, whose record says what to install. Says which suite has none for this framework, if it
    has some for another."""
    for word in matrix.models:
        if not word.suite:
            yield of_user(place.framework, word, place.worker.has_own_modules)
            continue
        has = find_suite(word.suite).frameworks
        if place.framework not in has and not set(has).isdisjoint(matrix.frameworks):
            say(f"suite {word.suite} has no models of {place.framework}")
            continue
        folder = matrix.folders.get(word.suite, "")
        try:
            listed = place.worker.models(word.suite, folder)
        except UnsupportedError:
            target = ModelTarget(place.framework, word.suite, suite=word.suite, folder=folder)
            yield Candidate(target, SuiteModel(word.suite, sizes=SIZES), word, is_missing=True)
            continue
        yield from of_suite(place.framework, word, listed, folder)


def _sized(candidate: Candidate, matrix: Matrix) -> Iterator[Candidate]:
    for size in matrix.sizes:
        for batch_size in matrix.batch_sizes:
            target = msgspec.structs.replace(candidate.target, size=size, batch_size=batch_size)
            yield msgspec.structs.replace(candidate, target=target)


def _first_path(axes: Axes) -> dict[str, str]:
    """Returns the path of the process that plans: what it imports may be found by that alone."""
    return next(map(_searched, axes.get("env", ())), {})


def _searched(variables: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in variables.items() if name in SEARCHED}


def _check_users(
    workers: Workers,
    place: Place,
    candidates: Iterable[Candidate],
    matrix: Matrix,
    selection: Selection,
) -> None:
    """Has the models of a user's functions built once in each environment that may find others of
    its modules. Raises the error of the first that is no model."""
    users = [candidate for candidate in candidates if not candidate.word.suite]
    cases = [
        sized.case(selection.settings) for candidate in users for sized in _sized(candidate, matrix)
    ]
    if not cases:
        return
    points = experiments(matrix, place.axes)
    paths = [_searched(point.settings.get("env", {})) for point in points]
    distinct = {tuple(sorted(path.items())): path for path in paths}
    common = Settings(python=place.python, imports=selection.settings.imports)
    try:
        for path in distinct.values():
            if path == _first_path(place.axes):
                place.worker.check_models(cases)
                continue
            own = msgspec.structs.replace(common, env=path)
            with workers.begin(place.framework, own) as worker:
                worker.check_models(cases)
    except UnknownOperatorError as error:
        names = [candidate.word.place.partition(":")[0] for candidate in users]
        near = next(filter(None, (suggest(name, available()) for name in names)), "")
        raise UsageError(f"{error}{near}") from error


def _of_models(
    place: Place, candidates: Iterable[Candidate], matrix: Matrix, selection: Selection
) -> Iterator[Experiment]:
    """Yields the product of models and axes: all experiments of the first model first."""
    points = [_settled(place, point) for point in experiments(matrix, place.axes)]
    for candidate in candidates:
        of_sizes = [candidate] if candidate.is_missing else _sized(candidate, matrix)
        for sized in of_sizes:
            for settings, words in points[:1] if candidate.is_missing else points:
                made = msgspec.structs.replace(selection.settings, **settings)
                case = with_dtype_options(sized.case(made))
                yield Experiment(case, sized, words, place.lacking)


def _settled(place: Place, point: Settled) -> Settled:
    device = point.settings["device"]
    named = {**point.settings, "device": place.devices.get(device, device)}
    return point._replace(settings=named)


def _of_operators(place: Place, matrix: Matrix, asked: Asked) -> tuple[Plan, list[Experiment]]:
    """Returns the plan of operators and files as `opperf run` has it, and its experiments: the
    values that the framework lacks among them, so that rules say why they are none."""
    usable = place.usable()
    axes = {name: values for name, values in usable.items() if values}
    if matrix.words:
        phases = (point.settings["phase"] for point in experiments(matrix, {}))
        axes["phase"] = tuple(dict.fromkeys(phases))
    try:
        plan = RegistrySource(place.framework).find(replace(asked, axes=axes)).plan
    except UnknownOperatorError as error:
        near = [suggest(pattern, available()) for pattern in asked.selection.patterns]
        raise UsageError(f"{error}{next(filter(None, near), '')}") from error
    cases = list(plan.cases) if len(axes) == len(usable) else []
    for name, values in place.axes.items():
        if name in axes and len(axes[name]) == len(values):
            continue
        used = axes.get(name, ())[:1]
        cases += (
            with_settings(case, {name: value})
            for value in values
            if value not in axes.get(name, ())
            for case in plan.cases
            if not used or getattr(case.settings, name) == used[0]
        )
    return plan, [
        Experiment(
            with_settings(case, {"env": {**settled.settings.get("env", {}), **case.settings.env}}),
            None,
            settled.words,
            place.lacking,
        )
        for case in cases
        for settled in _points_of(case, place, matrix)
    ]


def _points_of(case: Case, place: Place, matrix: Matrix) -> Iterator[Settled]:
    """Yields the points of PyTorch/XLA's product of a case; one without words if none is used."""
    if not matrix.words:
        yield Settled({}, {})
        return
    for point in experiments(matrix, {}):
        settings = _settled(place, point).settings
        if all(getattr(case.settings, name) == settings[name] for name in BY_WORDS):
            yield point


BY_WORDS = ("device", "mode", "phase")
"""Settings that PyTorch/XLA's words mean."""


def _check_any(cases: Sequence[Case], removed: Sequence[Removed], names: Iterable[str]) -> None:
    """Raises `UsageError` if no case is left of the models with these `names`."""
    if cases:
        return
    if removed:
        raise UsageError(f"nothing to run: {'; '.join(removal.text() for removal in removed)}")
    listed = list(dict.fromkeys(names))
    if listed:
        raise UsageError(
            "nothing to run: --filter, --exclude and the tiers leave none of "
            f"{pluralize(len(listed), 'model')}: {', '.join(listed)}"
        )
    raise UsageError("nothing to run: name a suite, a function of models, operators or a file")
