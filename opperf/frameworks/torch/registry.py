"""PyTorch's operators, read from its dispatcher, and the public functions that call them."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any, NamedTuple

import msgspec
import torch

from opperf.frameworks.installed import renamed
from opperf.frameworks.torch import callers, categories, private, schemas, synonyms
from opperf.frameworks.torch.devices import DTYPES, type_of
from opperf.model import Operator, OperatorTarget, Target
from opperf.model.targets import DEFAULT_OVERLOAD


class Place(NamedTuple):
    """A module with public functions."""

    module: ModuleType | type
    path: str
    prefix: str = ""
    """Beginning of the operators' names: `torch.linalg.norm` calls `linalg_norm`."""


PLACES = (
    Place(torch, "torch"),
    Place(torch.nn.functional, "torch.nn.functional"),
    Place(torch.linalg, "torch.linalg", "linalg_"),
    Place(torch.fft, "torch.fft", "fft_"),
    Place(torch.special, "torch.special", "special_"),
    Place(torch.Tensor, "torch.Tensor"),
)
"""Modules whose functions call the operators of their own names."""

RENAMED = {
    f"torch.nn.functional.{name}": operator
    for name, operator in renamed(
        "cross_entropy=cross_entropy_loss grid_sample=grid_sampler fold=col2im unfold=im2col "
        "affine_grid=affine_grid_generator logsigmoid=log_sigmoid"
    ).items()
}
"""Operators of functions that have another name."""


@functools.cache
def _paths() -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for place in PLACES:
        for name in dir(place.module):
            path = f"{place.path}.{name}"
            if not name.startswith("_") and callable(getattr(place.module, name, None)):
                found.setdefault(RENAMED.get(path, f"{place.prefix}{name}"), []).append(path)
    return {name: tuple(paths) for name, paths in found.items()}


def paths(name: str) -> tuple[str, ...]:
    """Returns the paths of the public functions of an operator, `torch.add` of `add`."""
    return _paths().get(name, ())


@functools.cache
def _by_identity() -> dict[int, str]:
    return {
        id(value): f"{place.path}.{name}"
        for place in reversed(PLACES)
        for name in dir(place.module)
        if not name.startswith("_") and callable(value := getattr(place.module, name, None))
    }


def path_of(function: object) -> str:
    """Returns the path of a public function; empty for any other object."""
    return _by_identity().get(id(function), "")


FRAMEWORK = "torch"

OWN = "aten"
"""PyTorch's namespace of its own operators, whose names need no prefix."""

_of_users: set[str] = set()
"""Namespaces of operators that modules of users have registered; PyTorch's own register more, too,
when they are first imported."""


@contextmanager
def importing() -> Iterator[None]:
    """A context in which a user's module is imported."""
    before = namespaces()
    yield
    _of_users.update(namespaces() - before)


def namespaces() -> set[str]:
    """Returns the namespaces of all operators."""
    return {name.partition("::")[0] for name in registered_names()}


CUSTOM = "custom"
"""Category of the operators that a user's module registers, the same as in other frameworks."""

IGNORED_TAGS = frozenset({"generated", "pt2_compliant_tag"})
"""Tags that say how an operator was made, or what nearly all have."""


class Entry(NamedTuple):
    """A name in the dispatcher."""

    namespace: str
    name: str
    overload: str

    @classmethod
    def of(cls, registered: str) -> Entry:
        """Returns the parts of `aten::add.Tensor`."""
        namespace, _, rest = registered.partition("::")
        name, _, overload = rest.partition(".")
        return cls(namespace, name, overload or DEFAULT_OVERLOAD)

    @property
    def registered(self) -> str:
        end = "" if self.overload == DEFAULT_OVERLOAD else f".{self.overload}"
        return f"{self.namespace}::{self.name}{end}"

    @property
    def shown(self) -> str:
        """Its name without the overload, as opperf shows it."""
        return self.name if self.namespace == OWN else f"{self.namespace}::{self.name}"


class Registered(NamedTuple):
    """An operator, and the function that calls it."""

    operator: Operator
    entry: Entry
    function: Any
    """The `OpOverload`."""

    @property
    def schema(self) -> Any:
        return private.schema_of(self.function)


def registered_names() -> tuple[str, ...]:
    """Returns every name in the dispatcher, those without a schema included."""
    return tuple(private.DISPATCHED_NAMES.get()())


Key = tuple[str, str, tuple[tuple[str, str], ...]]
"""Namespace, name and parameters, the same as of the operator that returns the result."""


def _found(names: tuple[str, ...]) -> Iterator[Registered]:
    found: dict[Entry, Any] = {}
    for entry in map(Entry.of, names):
        packet = getattr(getattr(torch.ops, entry.namespace), entry.name, None)
        function = getattr(packet, entry.overload, None)
        if function is not None:
            found[entry] = function
    functional = {
        _key(entry, private.schema_of(function)): entry.overload
        for entry, function in found.items()
        if not schemas.written_to(private.schema_of(function))
    }
    for entry, function in found.items():
        schema = private.schema_of(function)
        is_written = bool(schemas.written_to(schema))
        overload = functional.get(_key(entry, schema), "") if is_written else ""
        yield Registered(_operator(entry, function, overload), entry, function)


def _key(entry: Entry, schema: Any) -> Key:
    name = entry.name
    if schemas.written_to(schema):
        name = name.removesuffix("_")
    inputs = tuple(
        (argument.name, str(argument.real_type))
        for argument in schema.arguments
        if not argument.is_out
    )
    return entry.namespace, name, inputs


def _operator(entry: Entry, function: Any, overload: str) -> Operator:
    schema = private.schema_of(function)
    variants = schemas.variants(entry.name, schema)
    own = entry.registered.removeprefix(f"{OWN}::")
    caller = callers.BY_OPERATOR.get(own, "")
    operator = Operator(
        framework=FRAMEWORK,
        namespace=entry.namespace,
        name=entry.shown,
        overload=entry.overload,
        aliases=tuple(_aliases(entry, overload)),
        prefixes=PREFIXES[entry.namespace == OWN],
        namespaces=(entry.namespace,),
        parameters=tuple(schemas.parameter(argument, DTYPES) for argument in schema.arguments),
        public=bool(caller) or not variants,
        variants=variants,
        caller=caller,
        on_request=entry.namespace not in {OWN, *_of_users} or own in synonyms.CANONICAL,
        tags=tuple(sorted({tag.name for tag in function.tags} - IGNORED_TAGS)),
    )
    is_users = entry.namespace in _of_users
    category = CUSTOM if is_users else categories.category_of(operator, schema)
    return msgspec.structs.replace(operator, category=category)


FORMER: Mapping[str, str] = {"sum.SymInt": "sum.dim_IntList"}
"""Overloads by their former names."""

PREFIXES = {True: ("torch.ops.aten.", "aten::", "aten."), False: ("torch.ops.",)}
"""Text that users write in front of the names of PyTorch's own operators, and of others."""


def _aliases(entry: Entry, overload: str) -> Iterator[str]:
    if entry.namespace != OWN:
        yield f"{entry.namespace}.{entry.name}.{entry.overload}"
        yield f"{entry.namespace}.{entry.name}"
        return
    if overload and (entry.overload != overload or entry.name.endswith("_")):
        # Whoever asks for both by this name gets both, and their inputs are alike.
        base = entry.name.removesuffix("_")
        yield f"{base}.{overload}"
        yield from [base] if base != entry.name else []
    own = f"{entry.name}.{entry.overload}"
    yield from (former for former, now in FORMER.items() if now == own)
    yield from paths(entry.name)
    for other in synonyms.OTHERS.get(entry.registered.removeprefix(f"{OWN}::"), ()):
        name = other.partition(".")[0]
        yield from dict.fromkeys((other, name, *paths(name)))


@functools.cache
def _read(names: tuple[str, ...]) -> tuple[Registered, ...]:
    found = _found(names)
    return tuple(sorted(found, key=lambda one: (one.operator.name, one.operator.overload)))


@functools.cache
def _operators(names: tuple[str, ...]) -> tuple[Operator, ...]:
    return tuple(registered.operator for registered in _read(names))


_listed: tuple[str, ...] = ()


def _list_names() -> tuple[str, ...]:
    global _listed
    _listed = registered_names()
    return _listed


def operators() -> tuple[Operator, ...]:
    """Returns every operator, sorted by name."""
    return _operators(_list_names())


@functools.cache
def _by_name(names: tuple[str, ...]) -> dict[str, list[Registered]]:
    named: dict[str, list[Registered]] = {}
    for registered in _read(names):
        for name in registered.operator.names:
            named.setdefault(name, []).append(registered)
    return named


def _named(name: str) -> list[Registered]:
    """Returns the operators of a name, as they were when the registry was last listed."""
    # The dispatcher takes milliseconds to list its names: only for one that is new.
    if (found := _by_name(_listed).get(name)) is None:
        found = _by_name(_list_names()).get(name, [])
    return found


def without_prefix(name: str) -> str:
    """Returns a name without what users may write in front of it."""
    for prefix in (*PREFIXES[True], *PREFIXES[False]):
        if name.startswith(prefix):
            return name[len(prefix) :]
    return name


def find(name: str) -> Registered | None:
    """Returns the operator of a name: the one whose own name it is, of overloads the default, else
    that of most tensors."""
    wanted = without_prefix(name)
    named = _named(wanted)
    own = [found for found in named if found.operator.names[0] == wanted]
    return min(own or named, key=_rank, default=None)


def measured(name: str) -> Operator | None:
    """Returns the operator under which results of a name are: of a synonym, the one it calls."""
    found = find(name)
    canonical = synonyms.CANONICAL.get(found.operator.label) if found is not None else None
    found = find(canonical) if canonical is not None else found
    return None if found is None else found.operator


def overloads(name: str) -> tuple[Operator, ...]:
    """Returns the operators of a name, without their overloads, the one that is meant by it
    first."""
    base = without_prefix(name)
    named = _named(base)
    return tuple(
        registered.operator
        for registered in sorted(named, key=_rank)
        if registered.operator.name == base
    )


def _rank(one: Registered) -> tuple[bool, bool, int]:
    """Returns the place of an operator among those of one name: the first is the one meant."""
    operator = one.operator
    required = sum(parameter.required for parameter in operator.tensors)
    return bool(operator.variants), operator.overload != DEFAULT_OVERLOAD, -required


def only_views(target: Target) -> bool:
    """Whether a target is an operator whose results are views of its arguments."""
    found = at(target) if isinstance(target, OperatorTarget) else None
    return found is not None and schemas.is_view(private.schema_of(found.function))


_by_target: dict[OperatorTarget, Registered] = {}

_by_key: dict[Key, Operator] = {}


def at(target: OperatorTarget) -> Registered | None:
    """Returns the operator of a target; None if this build has none."""
    # The dispatcher takes milliseconds to list its names: only for a target that is new.
    if target not in _by_target:
        for registered in _read(registered_names()):
            _by_target[registered.operator.target] = registered
            if not schemas.written_to(registered.schema):
                _by_key[_key(registered.entry, registered.schema)] = registered.operator
    return _by_target.get(target)


def returning(operator: Operator) -> Operator | None:
    """Returns the operator that returns what this one writes to arguments; else None."""
    found = at(operator.target)
    if found is None or not schemas.written_to(found.schema):
        return None
    return _by_key.get(_key(found.entry, found.schema))


COMPOSITE = (
    "CompositeImplicitAutograd",
    "CompositeImplicitAutogradNestedTensor",
    "CompositeExplicitAutograd",
    "CompositeExplicitAutogradNonFunctional",
)
"""Dispatch keys of kernels that call other operators, on any device."""

OF_DEVICE = ("{}", "Quantized{}", "Sparse{}", "SparseCsr{}", "NestedTensor{}")
"""Dispatch keys of a device's kernels: of dense tensors and of each other kind."""

ONLY: Mapping[str, tuple[str, ...]] = {"cpu": ("MkldnnCPU",)}
"""Dispatch keys that only one type of device has."""

KEYS: Mapping[str, str] = {"cpu": "CPU", "cuda": "CUDA", "mps": "MPS", "xpu": "XPU"}
"""Name of a type of device in dispatch keys."""


def missing(operator: Operator, device: str) -> str:
    """Returns why an operator cannot run on a device; empty if the device has a kernel of it."""
    found = at(operator.target)
    kind = type_of(device)
    own = (pattern.format(KEYS[kind]) for pattern in OF_DEVICE)
    keys = (*COMPOSITE, *own, *ONLY.get(kind, ()))
    has_kernel = private.HAS_KERNEL.find()
    if found is None or has_kernel is None:
        return ""
    if any(has_kernel(found.entry.registered, key) for key in keys):
        return ""
    return f"PyTorch {torch.__version__} has no kernel of it for {device}"
