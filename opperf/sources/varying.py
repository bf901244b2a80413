"""Varies cases along axes, every case with every combination of the axes' values, and by what is
differentiated."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Sized
from typing import Any

import msgspec

from opperf.dtypes import HALF_PRECISION, kind_of
from opperf.errors import UsageError, suggest
from opperf.frameworks import available, package_of
from opperf.frameworks.fill import USERS
from opperf.metrics import process_settings
from opperf.model import (
    DEFAULTS,
    PASSES,
    Argument,
    Case,
    DType,
    ModelTarget,
    Pass,
    Settings,
    Target,
    TargetKey,
    TensorSpec,
    iter_tensors,
    map_tensors,
)
from opperf.model import Mapping as MappingValue
from opperf.model.cases import SettingValues

SINGLE, DOUBLE = "float32", "float64"

Axes = dict[str, tuple[Any, ...]]
"""Values by field of `Settings`; a field without values stays as it is in a case."""


def with_array_type(arguments: Mapping[str, Argument], array_type: str) -> dict[str, Argument]:
    """Returns arguments with their tensors of this array type."""
    if not array_type:
        return dict(arguments)
    return {
        name: map_tensors(value, lambda spec: msgspec.structs.replace(spec, array_type=array_type))
        for name, value in arguments.items()
    }


def deduplicate(cases: Iterable[Case]) -> tuple[Case, ...]:
    """Returns the cases without those that have the id of an earlier one."""
    found: dict[str, Case] = {}
    for case in cases:
        found.setdefault(case.id, case)
    return tuple(found.values())


MOST_POINTS = 100_000
"""Combinations of settings: a case alone takes days in as many, and a few short lists have any
number of them."""


def check_combinations(values: Iterable[Sized]) -> None:
    """Raises `UsageError` for values with more than `MOST_POINTS` combinations."""
    points = math.prod(map(len, values))
    if points > MOST_POINTS:
        raise UsageError(
            f"{points:,} combinations of settings, and at most {MOST_POINTS:,} are planned; give "
            "the axes fewer values"
        )


Unite = Callable[[Iterable[Case]], Sequence[Case]]
"""Makes one of equal cases."""


def vary(
    cases: Iterable[Case], axes: Mapping[str, tuple[Any, ...]], unite: Unite = deduplicate
) -> tuple[Case, ...]:
    """Returns every case with every combination of the axes' values, without duplicates. Cases of
    one combination are together, in their order; those that it makes equal are united."""
    listed = list(cases)
    products = itertools.product(*axes.values())
    combinations = (dict(zip(axes, values, strict=True)) for values in products)
    found = (
        unite(with_settings(case, combination) for case in listed) for combination in combinations
    )
    return deduplicate(itertools.chain.from_iterable(found))


def shuffle(cases: Iterable[Case], seed: int) -> tuple[Case, ...]:
    """Returns the cases in a random order."""
    listed = list(cases)
    random.Random(seed).shuffle(listed)
    return tuple(listed)


def with_settings(case: Case, settings: SettingValues) -> Case:
    """Returns the case with other settings; dtype and memory format apply to tensors too."""
    if "dtype" in settings:
        case = with_dtype(_without_dtype_options(case), settings["dtype"])
    if "memory_format" in settings:
        case = with_memory_format(case, settings["memory_format"])
    others = {name: value for name, value in settings.items() if name not in OF_INPUTS}
    case = msgspec.structs.replace(case, settings=msgspec.structs.replace(case.settings, **others))
    if "grad" in settings and case.settings.differentiated:
        case = with_gradients(case)
    if "phase" in settings and isinstance(case.target, ModelTarget):
        case = msgspec.structs.replace(case, passes=passes_of(case.settings.phase))
    return with_dtype_options(case)


def passes_of(phase: str) -> tuple[Pass, ...]:
    """Returns the passes of a model in a phase."""
    return PASSES if phase == "train" else PASSES[:1]


OF_INPUTS = ("dtype", "memory_format")
"""Settings that are those of a case's inputs."""


def with_dtype_options(case: Case) -> Case:
    """Returns the case with the options that its dtype and its operator need; those of the user
    stay."""
    framework = case.target.framework
    package = package_of(framework) if framework in available() else None
    own = package.operator_options.get(case.target.label, {}) if package is not None else {}
    needed = dtype_options(framework, case.settings.dtype)
    return _with_options(case, {**own, **needed, **case.settings.options})


def _without_dtype_options(case: Case) -> Case:
    """The user may have set the same, for this dtype."""
    needed = dtype_options(case.target.framework, case.settings.dtype).items()
    options = case.settings.options.items()
    return _with_options(case, {name: text for name, text in options if (name, text) not in needed})


def dtype_options(framework: str, dtype: str) -> Mapping[str, str]:
    """Returns the options that a framework needs for a dtype."""
    return _options_by_dtype(framework).get(dtype, {})


def has_dtype_options(framework: str) -> bool:
    """Returns whether a framework needs options for some dtypes."""
    return bool(_options_by_dtype(framework))


def _options_by_dtype(framework: str) -> Mapping[str, Mapping[str, str]]:
    package = package_of(framework) if framework in available() else None
    return package.dtype_options if package is not None else {}


def _with_options(case: Case, options: Mapping[str, str]) -> Case:
    if options == case.settings.options:
        return case
    settings = msgspec.structs.replace(case.settings, options=options)
    return msgspec.structs.replace(case, settings=settings)


def with_dtype(case: Case, dtype: str) -> Case:
    """Returns the case with another dtype in place of its own, in all tensors and arguments. What
    is in single precision beside half precision has at least the new one. A case of a user's arrays
    of which none has its dtype stays as it is."""
    old = case.settings.dtype
    replaced = {old, SINGLE} if old in HALF_PRECISION and dtype == DOUBLE else {old}

    def convert(value: Argument) -> Argument:
        if isinstance(value, tuple):
            return tuple(convert(element) for element in value)  # type: ignore[misc]
        if isinstance(value, MappingValue):
            return MappingValue({name: convert(entry) for name, entry in value.entries.items()})
        if isinstance(value, TensorSpec):
            return in_dtype(value, dtype) if value.dtype in replaced else value
        if isinstance(value, DType):
            return DType(dtype) if value.name in replaced else value
        return value

    arguments = {name: convert(value) for name, value in case.arguments.items()}
    if arguments.get("dtype") == old:
        arguments["dtype"] = dtype
    if arguments == case.arguments and any(is_users(spec) for _, spec in case.tensors()):
        return case
    settings = msgspec.structs.replace(case.settings, dtype=dtype)
    # What was recorded is the time of other calls.
    recorded = case.recorded if arguments == case.arguments else ()
    return msgspec.structs.replace(case, arguments=arguments, settings=settings, recorded=recorded)


def is_users(spec: TensorSpec) -> bool:
    """Whether a tensor is an array that a user passed."""
    return spec.fill.distribution in USERS


def unconverted(cases: Iterable[Case], dtype: str) -> tuple[str, ...]:
    """Returns the arguments of the cases that are a user's arrays of another dtype, each with its
    own: `indices (int64)`."""
    found = (
        f"{name} ({spec.dtype})"
        for case in cases
        for name, spec in case.tensors()
        if is_users(spec) and spec.dtype != dtype
    )
    return tuple(dict.fromkeys(found))


def in_dtype(spec: TensorSpec, dtype: str) -> TensorSpec:
    """Returns a tensor in another dtype; of a user's array, with the dtype that it is given in."""
    if not is_users(spec):
        return msgspec.structs.replace(spec, dtype=dtype)
    own = spec.fill.dtype or spec.dtype
    fill = msgspec.structs.replace(spec.fill, dtype="" if own == dtype else own)
    return msgspec.structs.replace(spec, dtype=dtype, fill=fill)


OF_TENSORS = {
    "channels_last": {4: "channels_last", 5: "channels_last_3d"},
    "channels_last_3d": {5: "channels_last_3d"},
}
"""The memory format of a tensor by the setting and the tensor's number of axes. A format that is
not here is that of every tensor."""


def with_memory_format(case: Case, name: str) -> Case:
    """Returns the case with another memory format in place of its own, in all dense tensors with a
    suitable number of axes and no strides of their own. A case without such a tensor has the
    default one."""
    old = case.settings.memory_format

    def reset(spec: TensorSpec) -> TensorSpec:
        is_set = spec.memory_format and spec.memory_format == _format_of(spec, old)
        return msgspec.structs.replace(spec, memory_format="") if is_set else spec

    def apply(spec: TensorSpec) -> TensorSpec:
        if spec.layout != "dense" or spec.strides or spec.storage or spec.memory_format:
            return spec
        return msgspec.structs.replace(spec, memory_format=_format_of(spec, name))

    plain = {argument: map_tensors(value, reset) for argument, value in case.arguments.items()}
    arguments = {argument: map_tensors(value, apply) for argument, value in plain.items()}
    used = DEFAULTS["memory_format"] if arguments == plain else name
    settings = msgspec.structs.replace(case.settings, memory_format=used)
    return msgspec.structs.replace(case, arguments=arguments, settings=settings)


def _format_of(spec: TensorSpec, name: str) -> str:
    if name == DEFAULTS["memory_format"]:
        return ""
    return OF_TENSORS[name].get(len(spec.shape), "") if name in OF_TENSORS else name


def by_label(cases: Iterable[Case]) -> dict[str, list[Case]]:
    """Returns the cases of each operator, by its label."""
    groups: dict[str, list[Case]] = {}
    for case in cases:
        groups.setdefault(case.label, []).append(case)
    return groups


def group_by_process(cases: Iterable[Case]) -> Iterator[Case]:
    """Returns the cases with those of one process together, in the order of first occurrence."""
    groups: dict[str, list[Case]] = {}
    for case in cases:
        groups.setdefault(process_key(case.target.framework, case.settings), []).append(case)
    return itertools.chain.from_iterable(groups.values())


def process_key(framework: str, settings: Settings) -> str:
    """Returns a key that is equal for cases that one process can measure."""
    process = process_settings(settings)
    return msgspec.json.encode((framework, process), order="deterministic").decode()


def disambiguate(cases: Iterable[Case]) -> tuple[Case, ...]:
    """Returns the cases with distinct names for targets of one label, as `nd.add` and `np.add`."""
    listed = tuple(cases)
    targets: dict[str, set[TargetKey]] = {}
    for case in listed:
        targets.setdefault(case.target.label, set()).add(_named(case.target))
    return tuple(
        case
        if len(targets[case.target.label]) == 1
        else msgspec.structs.replace(
            case, name=_distinct_name(_named(case.target), targets[case.target.label])
        )
        for case in listed
    )


def _named(target: Target) -> TargetKey:
    """Distinguishes targets of one label: a model's has all but framework and suite."""
    if isinstance(target, ModelTarget):
        return target.key._replace(name=target.label, overload="")
    return target.key


def _distinct_name(key: TargetKey, rivals: Collection[TargetKey]) -> str:
    if len({rival.path for rival in rivals}) == len(rivals):
        return key.path
    return str(key)


OPTION = "--grad"

DIFFERENTIABLE = ("float", "complex")
"""Kinds of the dtypes of tensors that have a gradient."""

LISTED = 8
"""Most names that an error lists: a line or two of a terminal."""


def with_gradients(case: Case) -> Case:
    """Returns the case with a gradient of what its settings name, and of no other tensor."""
    wanted = case.settings.differentiated

    def asked(spec: TensorSpec) -> TensorSpec:
        return msgspec.structs.replace(spec, gradient=kind_of(spec.dtype) in DIFFERENTIABLE)

    def others(spec: TensorSpec) -> TensorSpec:
        return msgspec.structs.replace(spec, gradient=False)

    arguments = {
        name: map_tensors(value, asked if name in wanted else others)
        for name, value in case.arguments.items()
    }
    return msgspec.structs.replace(case, arguments=arguments)


def differentiable(case: Case) -> tuple[str, ...]:
    """Returns the names of the arguments of a case that can have a gradient."""
    return tuple(
        name
        for name, value in case.arguments.items()
        if any(kind_of(spec.dtype) in DIFFERENTIABLE for spec in iter_tensors(value))
    )


def check_gradients(names: Iterable[str], known: Sequence[tuple[str, tuple[str, ...]]]) -> None:
    """Raises `UsageError` for a name that no case has. `known` are, for each case, its label and
    what can be differentiated in it."""
    every = dict.fromkeys(name for _, of_case in known for name in of_case)
    labels = list(dict.fromkeys(label for label, _ in known))
    whose = f"{labels[0]} has no" if len(labels) == 1 else "no selected operator has the"
    for name in names:
        if known and name not in every:
            listed = ", ".join(list(every)[:LISTED]) or "nothing"
            raise UsageError(
                f"{OPTION} {name}: {whose} argument {name!r} that takes a gradient"
                f"{suggest(name, every)} (gradients are computed of {listed})"
            )
