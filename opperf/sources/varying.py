"""Cases varied along axes of settings: every case with every combination of their values."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from opperf.model import Argument, Case, DType, Settings, TargetKey, TensorSpec
from opperf.model import Mapping as MappingValue

Axes = dict[str, tuple[Any, ...]]
"""By field of `Settings`, the values it takes; one that is absent stays as a case has it."""


def vary(cases: Iterable[Case], axes: Mapping[str, tuple[Any, ...]]) -> tuple[Case, ...]:
    """Each case with each combination of the axes' values, the cases of one combination together
    in their order; of cases that come to be the same, the first."""
    listed = list(cases)
    found = (
        with_settings(case, dict(zip(axes, values, strict=True)))
        for values in itertools.product(*axes.values())
        for case in listed
    )
    return deduplicate(found)


def deduplicate(cases: Iterable[Case]) -> tuple[Case, ...]:
    """The cases without those that have the id of an earlier one."""
    found: dict[str, Case] = {}
    for case in cases:
        found.setdefault(case.id, case)
    return tuple(found.values())


def with_settings(case: Case, settings: Mapping[str, Any]) -> Case:
    """The case with other settings; its tensors follow its dtype."""
    if "dtype" in settings:
        case = with_dtype(case, settings["dtype"])
    return msgspec.structs.replace(
        case, settings=msgspec.structs.replace(case.settings, **settings)
    )


def with_dtype(case: Case, dtype: str) -> Case:
    """The case with every tensor and argument of its own dtype in another one."""
    old = case.settings.dtype

    def turned(value: Argument) -> Argument:
        if isinstance(value, tuple):
            return tuple(turned(element) for element in value)  # type: ignore[misc]
        if isinstance(value, MappingValue):
            return MappingValue({name: turned(one) for name, one in value.entries.items()})
        if isinstance(value, TensorSpec):
            return msgspec.structs.replace(value, dtype=dtype) if value.dtype == old else value
        if isinstance(value, DType):
            return DType(dtype) if value.name == old else value
        return value

    arguments = {name: turned(value) for name, value in case.arguments.items()}
    if arguments.get("dtype") == old:
        arguments["dtype"] = dtype
    settings = msgspec.structs.replace(case.settings, dtype=dtype)
    return msgspec.structs.replace(case, arguments=arguments, settings=settings)


def group_by_process(cases: Iterable[Case]) -> Iterator[Case]:
    """The cases ordered by the process that they need, in the order in which each is first
    needed; those of one process in their own order."""
    groups: dict[str, list[Case]] = {}
    for case in cases:
        groups.setdefault(process_key(case.target.framework, case.settings), []).append(case)
    return itertools.chain.from_iterable(groups.values())


def process_key(framework: str, settings: Settings) -> str:
    """What two cases have in common that one process can measure."""
    return msgspec.json.encode((framework, settings.process()), order="deterministic").decode()


def disambiguate(cases: Iterable[Case]) -> tuple[Case, ...]:
    """The cases, with names of their own where the labels of several targets are one: `nd.add` and
    `np.add` are two rows of every table."""
    listed = tuple(cases)
    targets: dict[str, set[TargetKey]] = {}
    for case in listed:
        targets.setdefault(case.target.label, set()).add(case.target.key)
    return tuple(
        case
        if len(targets[case.target.label]) == 1
        else msgspec.structs.replace(case, name=_name(case.target.key, targets[case.target.label]))
        for case in listed
    )


def _name(key: TargetKey, rivals: Collection[TargetKey]) -> str:
    """The shortest name of a target that none of its rivals has."""
    if len({one.path for one in rivals}) == len(rivals):
        return key.path
    return str(key)
