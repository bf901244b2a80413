"""Configurations of PARAM's benchmarks in programs: load, build and measure them, and register
operators, iterators and data generators that they name.

    from opperf.configurations import configure, load, measure, ranged, spec, tensor

    content = configure(
        "torch.add",
        inputs=[spec(tensor(128, 256), ranged(1, 10))],
        input_iterator="RangeConfigIterator",
    )
    for record in measure(load(content), warmup=2, runs=10):
        print(record.case.source_id, record.summaries["forward"].median)

`content` is a dict as the files have it; `json.dump` writes it for `opperf run`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from opperf.api.calls import call_settings, check_new_file, measure_cases, measure_to_file
from opperf.decoding import JsonObject
from opperf.defaults import RUNS, WARMUP
from opperf.errors import UsageError
from opperf.execution.executor import InProcess
from opperf.formats.param.schema import Raw, Spec
from opperf.frameworks import load as load_framework
from opperf.model import Record
from opperf.sources.completing import complete, distinguish
from opperf.sources.param.configuration import Configuration
from opperf.sources.param.files import read_file, read_text
from opperf.sources.param.registering import (
    DATA_GENERATORS,
    ITERATORS,
    DataGenerator,
    Iterator,
    add_operator,
)
from opperf.sources.varying import disambiguate, with_settings

OWN = ("device", "profiler", "mode", "warmup", "runs")


def measure(
    configuration: Configuration,
    device: Any = None,
    warmup: int = WARMUP,
    runs: int = RUNS,
    backward: bool = True,
    save: str | Path | None = None,
) -> tuple[Record, ...]:
    """Measures the cases of a configuration in this process, and returns their records, those of a
    framework together. With `save`, each is written to this run file as it is made.

    `device` is the frameworks' default one if None; `warmup` calls are made before `runs` timed
    ones. Raises `UsageError`, before anything is measured, if no case can be called, and
    `OutputError` for a file that exists or cannot be written.
    """
    path = None if save is None else Path(save)
    if path is not None:
        check_new_file(path)
    names = dict.fromkeys(case.target.framework for case in configuration.cases())
    executor = InProcess({name: load_framework(name) for name in names})
    settings = {
        name: call_settings(framework, device, "float32", None, warmup, runs)
        for name, framework in executor.frameworks.items()
    }
    completed = [
        call
        for name, framework in executor.frameworks.items()
        for call in complete(
            framework, [case for case in configuration.cases() if case.target.framework == name]
        )
    ]
    if all(call.refusal for call in completed):
        for call in completed[:1]:
            raise UsageError(f"{call.case.origin}: {call.refusal}")
    cases = disambiguate(
        with_settings(
            case if backward else msgspec.structs.replace(case, passes=("forward",)),
            {name: getattr(settings[case.target.framework], name) for name in OWN},
        )
        for case in distinguish(call.case for call in completed)
    )
    if path is None:
        records = measure_cases(cases, executor)
    else:
        records = measure_to_file(path, cases, executor, next(iter(settings.values())))
    return tuple(records[case.id] for case in cases)


__all__ = [
    "Configuration",
    "Spec",
    "configure",
    "data_generator",
    "geometric",
    "iterator",
    "listed",
    "load",
    "measure",
    "operator",
    "ranged",
    "spec",
    "tensor",
]

F = TypeVar("F", bound=Callable[..., Any])


def load(source: JsonObject | str | Path) -> Configuration:
    """Returns the configuration in a dict, in a text of JSON, or in the file at a path.

    Raises `UsageError` with the file and the key path of an error.
    """
    if isinstance(source, Mapping):
        return Configuration(source)
    if isinstance(source, str) and source.lstrip().startswith("{"):
        return Configuration(read_text(source, "configuration"))
    path = Path(source)
    return Configuration(read_file(path), str(path))


def configure(
    name: str,
    inputs: Sequence[Mapping[str, Any]],
    builds: Sequence[Mapping[str, Any]] = (),
    **names: str,
) -> dict[str, Any]:
    """Returns the configuration of an operator: every input with every build. `names` are those of
    its `input_iterator`, `build_iterator`, `input_data_generator` and `build_data_generator`."""
    return {name: {**names, "config": [{"build": list(builds), "input": list(inputs)}]}}


def spec(*args: Any, **kwargs: Any) -> dict[str, Any]:
    """Returns the arguments of a call or a build. A value is an argument of its own type: numbers,
    strings, None, lists, tuples; `tensor(...)`, `ranged(...)` and dicts with a `type` stay."""
    return {
        "args": [_argument(argument) for argument in args],
        "kwargs": {name: _argument(argument) for name, argument in kwargs.items()},
    }


def tensor(*shape: int | Sequence[int], dtype: str = "float", **attributes: Any) -> Raw:
    """Returns a tensor; `attributes` are `requires_grad`, `strides`, `memory_format`,
    `distribution`, `domain` and macros. An extent [least, most, step] is a range."""
    extents = [extent if isinstance(extent, int) else list(extent) for extent in shape]
    macros = {} if all(isinstance(extent, int) for extent in extents) else {"__range__": ["shape"]}
    return {"type": "tensor", "dtype": dtype, "shape": extents, **macros, **attributes}


def ranged(least: float, most: float, step: float = 1) -> Raw:
    """Returns the numbers from `least` to `most`, both included, as one argument each."""
    return {**_number([least, most, step]), "__range__": ["value"]}


def geometric(least: float, most: float, factor: float = 2) -> Raw:
    """Returns the numbers from `least` to at most `most`, each `factor` times the one before."""
    return {**_number([least, most, factor]), "__geometric__": ["value"]}


def listed(*values: float | str | bool) -> Raw:
    """Returns several values of one type as one argument each. Raises `UsageError` for none."""
    if not values:
        raise UsageError("listed() needs a value")
    return {**_argument(values[0]), "value": list(values), "__list__": ["value"]}


def _number(values: list[float]) -> Raw:
    whole = all(isinstance(value, int) for value in values)
    return {"type": "int" if whole else "float", "value": values}


TYPES: Mapping[type, str] = {
    bool: "bool",
    int: "int",
    float: "float",
    str: "str",
    tuple: "tuple",
    list: "genericlist",
}


def _argument(value: Any) -> Raw:
    if isinstance(value, Mapping):
        return dict(value)
    if value is None:
        return {"type": "none"}
    if type(value) not in TYPES:
        raise UsageError(f"an argument is a number, a string, a list or tensor(...), not {value!r}")
    inner = [_argument(element) for element in value] if isinstance(value, (list, tuple)) else value
    return {"type": TYPES[type(value)], "value": inner}


def operator(name: str, framework: str = "torch") -> Callable[[F], F]:
    """Registers the decorated function as an operator of configurations; or the decorated class, of
    which an object is built with the arguments of `build` and then called.

    Another package registers one by an entry point of the group `opperf.operators.<framework>`.
    """

    return _register(lambda target: add_operator(name, framework, target))


def iterator(name: str) -> Callable[[Iterator], Iterator]:
    """Registers the decorated function as an iterator: of the list of dicts that `input` or `build`
    is, the `Spec` of the build (None for `build` itself), and the place for messages. It yields
    pairs of an id and a `Spec`.

    Another package registers one by an entry point of the group `opperf.iterators`.
    """

    return _register(partial(ITERATORS.add, name))


def data_generator(name: str) -> Callable[[DataGenerator], DataGenerator]:
    """Registers the decorated function as a data generator: of a `Spec` and its place, returns the
    list of positional arguments and the dict of named ones, as `opperf.model` has them: a
    `TensorSpec` with its `Fill`, numbers, strings.

    Another package registers one by an entry point of the group `opperf.data_generators`.
    """

    return _register(partial(DATA_GENERATORS.add, name))


def _register(add: Callable[[F], object]) -> Callable[[F], F]:
    def register(target: F) -> F:
        add(target)
        return target

    return register
