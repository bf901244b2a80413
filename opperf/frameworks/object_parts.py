"""The parts of an object: what of it can be changed, and how that is read and written."""

from __future__ import annotations

import sys
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

Elements = dict[Any, Any]
"""Elements of an object by index or key, or attributes by name."""


class Kind(NamedTuple):
    """How the elements of an object are read and written."""

    read: Callable[[Any], Elements]
    write: Callable[[Any, Elements], None]
    """Takes the object, and the elements that it is to have."""
    is_whole: bool = False
    """Whether they belong together, in their order: of what grows with each call, the first element
    is none that stays."""


class Inside(NamedTuple):
    """The parts of an object."""

    kinds: tuple[Kind, ...] = ()
    """Of its elements that can be changed."""
    fixed: tuple[tuple[Any, Any], ...] = ()
    """Keys and values that stay, such as the elements of a tuple."""


Parts = Callable[[Any], Inside]

NOTHING = Inside()


def _update(held: Any, now: Elements, wanted: Elements, put: Any, remove: Any) -> None:
    for key in now.keys() - wanted.keys():
        remove(held, key)
    for key, value in wanted.items():
        if key not in now or now[key] is not value:
            put(held, key, value)


def _write_dict(held: Any, wanted: Elements) -> None:
    # Not by the methods of a subclass, which may refuse.
    kind = OrderedDict if isinstance(held, OrderedDict) else dict
    kind.clear(held)
    for key, value in wanted.items():
        kind.__setitem__(held, key, value)


def _write_list(held: Any, wanted: Elements) -> None:
    list.__setitem__(held, slice(None), list(wanted.values()))


def _write_deque(held: Any, wanted: Elements) -> None:
    held.clear()
    held.extend(wanted.values())


def _write_set(held: Any, wanted: Elements) -> None:
    held.clear()
    held.update(wanted)


def _enumerated(held: Iterable[Any]) -> Elements:
    return dict(enumerate(held))


def _by_identity(held: set[Any]) -> Elements:
    # In an order that does not depend on what was in the set before.
    return {element: element for element in sorted(held, key=id)}


CONTAINERS: Mapping[type, Kind] = {
    # A subclass before its base.
    OrderedDict: Kind(lambda held: dict(OrderedDict.items(held)), _write_dict, True),
    dict: Kind(lambda held: dict(dict.items(held)), _write_dict, True),
    list: Kind(_enumerated, _write_list, True),
    deque: Kind(_enumerated, _write_deque, True),
    set: Kind(_by_identity, _write_set, True),
}


def containers(value: Any) -> Inside:
    """Returns the parts of a list, dict, set or tuple; nothing of any other object."""
    if isinstance(value, tuple):
        return Inside(fixed=tuple(enumerate(value)))
    kinds = [kind for base, kind in CONTAINERS.items() if isinstance(value, base)]
    return Inside((kinds[0],)) if kinds else NOTHING


def everything(value: Any) -> Inside:
    """Returns the parts of an object of any kind: also attributes, and what a function refers to.
    Nothing of modules, and of what installed packages keep for themselves."""
    if isinstance(value, ModuleType):
        return NOTHING
    if isinstance(value, type):
        return _of_class(value)
    if isinstance(value, FunctionType):
        return _of_function(value)
    if isinstance(value, CellType):
        return Inside((CELL,))
    if isinstance(value, MethodType):
        return Inside(fixed=(("", value.__self__), ("", value.__func__)))
    if isinstance(value, partial):
        return Inside(fixed=(("", value.func), ("", value.args), ("", value.keywords)))
    kinds, fixed = containers(value)
    if _is_internal(type(value).__module__):
        return Inside(kinds, fixed)
    slots = _slots(type(value))
    if slots:
        kinds = (*kinds, _named(slots))
    if type(getattr(value, "__dict__", None)) is dict:
        kinds = (*kinds, ATTRIBUTES)
    return Inside(kinds, (*fixed, ("", type(value))))


def _write_attributes(held: Any, wanted: Elements) -> None:
    own = vars(held)
    _update(own, own, wanted, dict.__setitem__, dict.__delitem__)


ATTRIBUTES = Kind(lambda held: dict(vars(held)), _write_attributes)
"""The attributes of an object that has a dict of them."""


def _slots(kind: type) -> tuple[str, ...]:
    declared = [vars(base).get("__slots__", ()) for base in kind.__mro__]
    listed = [(names,) if isinstance(names, str) else tuple(names) for names in declared]
    return tuple(name for names in listed for name in names if not name.startswith("__"))


@cache
def _named(names: tuple[str, ...]) -> Kind:
    def read(held: Any) -> Elements:
        return {name: getattr(held, name) for name in names if hasattr(held, name)}

    def write(held: Any, wanted: Elements) -> None:
        # Also what a frozen class refuses.
        _update(held, read(held), wanted, object.__setattr__, object.__delattr__)

    return Kind(read, write)


def _of_class(kind: type) -> Inside:
    """Returns the variables of a user's class, and the functions, which may use global ones."""
    if not is_users(kind.__module__):
        return NOTHING
    functions = [value for value in vars(kind).values() if isinstance(value, FunctionType)]
    return Inside((CLASS,), tuple(("", inside) for inside in (*functions, *kind.__bases__)))


def _read_class(kind: type) -> Elements:
    return {
        name: value
        for name, value in vars(kind).items()
        if not name.startswith("__") and not hasattr(type(value), "__get__")
    }


def _write_class(kind: type, wanted: Elements) -> None:
    _update(kind, _read_class(kind), wanted, type.__setattr__, type.__delattr__)


CLASS = Kind(_read_class, _write_class)


def _of_function(function: FunctionType) -> Inside:
    if _is_internal(function.__module__):
        return NOTHING
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    defaults = (("", function.__defaults__), ("", function.__kwdefaults__))
    kinds = (GLOBALS,) if is_users(function.__module__) else ()
    return Inside(kinds, (*cells, *defaults, ("", function.__dict__)))


def _read_cell(cell: CellType) -> Elements:
    try:
        return {"": cell.cell_contents}
    except ValueError:
        # It is empty.
        return {}


def _write_cell(cell: CellType, wanted: Elements) -> None:
    if wanted:
        cell.cell_contents = wanted[""]
    else:
        del cell.cell_contents


CELL = Kind(_read_cell, _write_cell)
"""A variable of a closure."""


def _read_globals(function: FunctionType) -> Elements:
    found = function.__globals__
    return {
        name: found[name]
        for name in dict.fromkeys(_names(function.__code__))
        if name in found and not isinstance(found[name], (ModuleType, type))
    }


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)


def _write_globals(function: FunctionType, wanted: Elements) -> None:
    now = _read_globals(function)
    _update(function.__globals__, now, wanted, dict.__setitem__, dict.__delitem__)


GLOBALS = Kind(_read_globals, _write_globals)
"""The global variables that a function names."""


@cache
def is_users(name: str | None) -> bool:
    """Whether a module is a user's own: neither of Python's library nor of an installed package."""
    file = getattr(sys.modules.get(name or ""), "__file__", None)
    if file is None:
        return name == "__main__"
    own = (name or "").partition(".")[0] not in sys.stdlib_module_names
    return own and not {"site-packages", "dist-packages"} & set(Path(file).parts)


@cache
def _is_internal(name: str | None) -> bool:
    """Whether a module is what a package keeps for itself, such as a compiler's."""
    parts = (name or "").split(".")
    return not is_users(name) and any(part.startswith("_") for part in parts)
