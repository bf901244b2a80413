"""The state of objects between calls: elements of containers, attributes, variables of closures,
contents of arrays. What calls change is found by comparison, and restored in the same objects,
which compiled code and graphs hold."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, NamedTuple

from opperf.frameworks.base import Kept
from opperf.frameworks.object_parts import NOTHING, Elements, Inside, Kind, Parts, everything

Place = tuple[Any, ...]
"""Name of a root, and then the index, key or attribute in each of the objects around a value."""

Keep = Callable[[Any], Kept | None]
"""Returns an array, or what draws random numbers, to be restored once it was written to; None for
any other object."""

PLAIN = (bool, int, float, complex, str, bytes, type(None))
"""Types of values that are compared by what they are."""


class KeptArray(NamedTuple):
    """An array among what objects keep."""

    place: Place
    value: Any
    kept: Kept

    def is_changed(self) -> bool:
        return self.kept.is_changed()

    def is_touched(self) -> bool:
        return self.kept.is_touched()

    def restore(self) -> None:
        self.kept.restore()


class KeptElements:
    """The elements or attributes of an object."""

    def __init__(self, place: Place, value: Any, kind: Kind) -> None:
        self.place, self.value, self.kind = place, value, kind
        self._before = kind.read(value)

    def now(self) -> Elements:
        return self.kind.read(self.value)

    def changed_keys(self) -> list[Any]:
        """Returns the keys of elements that are others, new or missing; of what is whole all."""
        now, before = self.now(), self._before
        keys = [
            key
            for key in {**before, **now}
            if key not in now or key not in before or not _is_same(now[key], before[key])
        ]
        if self.kind.is_whole:
            return [*{**before, **now}] if keys or list(now) != list(before) else []
        return keys

    def is_changed(self) -> bool:
        return bool(self.changed_keys())

    is_touched = is_changed

    def accept(self, keys: Collection[Any]) -> None:
        """Takes these elements, as they are now, for those at first."""
        now = self.now()
        accepted = {key: now[key] for key in now if key in keys}
        self._before = {
            key: value for key, value in self._before.items() if key not in keys
        } | accepted

    def restore(self) -> None:
        if self.is_changed():
            self.kind.write(self.value, self._before)


def _is_same(one: Any, other: Any) -> bool:
    """Whether two elements are one object, equal plain values, or tuples of such."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(_is_same, one, other))
    return isinstance(one, PLAIN) and bool(one == other)


Item = KeptArray | KeptElements


def _key(item: Item) -> tuple[int, Kind | None]:
    """Returns what is the same of an item in two states of the same objects."""
    return id(item.value), item.kind if isinstance(item, KeptElements) else None


def _reached(
    roots: Mapping[Any, Any], parts: Parts, seen: dict[int, Any]
) -> Iterator[tuple[Place, Any]]:
    """Yields what can be reached from the roots, each object once, and none that was seen. These
    are kept, as the identity of an object that is freed is given to another."""
    waiting: list[tuple[Place, Any]] = [((name,), one) for name, one in roots.items()][::-1]
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, PLAIN) or id(value) in seen:
            continue
        seen[id(value)] = value
        yield place, value
        kinds, fixed = parts(value)
        inside = [pair for kind in kinds for pair in kind.read(value).items()]
        waiting += [((*place, key), one) for key, one in (*inside, *fixed)][::-1]


class ObjectState:
    """Keeps what can be reached from some objects, as it is when this is made."""

    def __init__(self, roots: Mapping[str, Any], keep: Keep, parts: Parts = everything) -> None:
        self._roots, self._keep, self._every_part = roots, keep, parts
        self._items: list[Item] = []
        self._forgotten: list[Item] = []
        """Those that can be restored no longer."""
        self._seen: dict[int, Any] = {}
        self._arrays: set[type] = set()
        """Types of arrays, which are kept as a whole."""
        for place, value in _reached(roots, self._parts, self._seen):
            kept = keep(value)
            if kept is not None:
                self._arrays.add(type(value))
                self._items.append(KeptArray(place, value, kept))
            kinds = self._parts(value).kinds
            self._items += [KeptElements(place, value, kind) for kind in kinds]

    def _parts(self, value: Any) -> Inside:
        return NOTHING if type(value) in self._arrays else self._every_part(value)

    def changed(self) -> list[Item]:
        """Returns what differs from what it was, or was written to."""
        return [item for item in self._items if item.is_changed()]

    def restore(self) -> None:
        """Makes everything what it was."""
        for item in self.changed():
            item.restore()

    def written(self) -> dict[str, Any]:
        """Returns the arrays that were written to, by their places."""
        arrays = [item for item in self.changed() if isinstance(item, KeptArray)]
        return {name_of(array.place): array.value for array in arrays}

    def settle(self, call: Callable[[], object]) -> list[Item]:
        """Returns what calls change, after the first one, and restores it. What only the first one
        has set, and `call`, which makes another, leaves, is taken for its place from now on, as a
        table that is made once: no later call has to make it again."""
        changed = self.changed()
        elements = [item for item in changed if isinstance(item, KeptElements)]
        again = self._changed_by(call) if elements else []
        if again is not None:
            for held in elements:
                self._accept(held, again)
            first, moved = set(map(_key, changed)), set(map(_key, again))
            changed = [
                item
                for item in self._items
                if _key(item) in moved
                or (_key(item) in first and (isinstance(item, KeptArray) or item.is_changed()))
            ]
        self.restore()
        return changed

    def _changed_by(self, call: Callable[[], object]) -> list[Item] | None:
        """Returns what a call changes; None if it fails."""
        before = ObjectState(self._roots, self._keep, self._every_part)
        try:
            call()
        except Exception:
            # As of a cache that is full: it has to be restored before any other call.
            return None
        return before.changed()

    def _accept(self, held: KeptElements, again: Collection[Item]) -> None:
        """Takes what a call left for what was there at first, where nothing of it has changed."""
        moved = {_key(item): item for item in again if isinstance(item, KeptElements)}
        others = moved[_key(held)].changed_keys() if _key(held) in moved else ()
        ids, now = {id(item.value) for item in again}, held.now()

        def leads_to_a_change(key: Any) -> bool:
            # What was there before is restored by itself.
            inside = _reached({"": now.get(key)}, self._parts, dict(self._seen))
            return any(id(value) in ids for _, value in inside)

        changed = held.changed_keys()
        stay = [key for key in changed if key not in others and not leads_to_a_change(key)]
        if not held.kind.is_whole or len(stay) == len(changed):
            held.accept(stay)

    def limit(self, items: Collection[Item]) -> None:
        """Forgets the copies of the contents of all but these, which calls do not change."""
        keys = set(map(_key, items))
        left: list[Item] = []
        for item in self._items:
            can_be = not isinstance(item, KeptArray) or _key(item) in keys or item.kept.forget()
            (left if can_be else self._forgotten).append(item)
        self._items = left

    def late(self, known: Collection[Item]) -> tuple[list[Item], list[Item]]:
        """Returns what calls have changed beside what is known to change: what can be restored, and
        what cannot any longer."""
        keys = set(map(_key, known))
        return (
            [
                item
                for item in self._items
                # A view of something else may have been written to.
                if _key(item) not in keys and item.is_touched() and item.is_changed()
            ],
            [item for item in self._forgotten if item.is_touched()],
        )


def name_of(place: Place) -> str:
    """Returns a place as text: `layers.0.cache`."""
    return ".".join(str(key) for key in place if key != "")
