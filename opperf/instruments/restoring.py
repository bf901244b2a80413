"""Fresh inputs for each call: what a call writes to is found at the first one, and restored."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from opperf.errors import OpperfError, UnsupportedError, one_line
from opperf.frameworks.base import Watched
from opperf.frameworks.models import RefreshedInputs
from opperf.model import DECLARED, Note, NoteCode

if TYPE_CHECKING:
    from opperf.instruments.prepared import PreparedCase

Place = tuple[Any, ...]
"""Name of an argument, and then the index or key in each of the containers around a value."""

Restore = Callable[[], object]


class FreshInputs:
    """Restores the arguments of a prepared case that its calls write to. To be made before the
    first call: what an operator's declaration says is known then; what a user's function does,
    `look` finds after the call, unless it has no arguments of its own, as a snippet's statement has
    none."""

    def __init__(self, prepared: PreparedCase) -> None:
        self._prepared = prepared
        self.restore: Restore | None = prepared.framework.restore(
            prepared.case, prepared.arguments, prepared.call
        )
        """Restores the arguments, to be called between two calls; None if there is nothing to
        restore."""
        self._tensors: list[tuple[Place, Watched]] = []
        self._containers: list[tuple[Any, Any]] = []
        """Lists and dicts, each with a copy."""
        if prepared.case.settings.fresh_contents:
            self.restore = refreshed(prepared)
        if self.restore is None:
            self._watch((), prepared.arguments)

    def _watch(self, place: Place, value: Any) -> None:
        prepared = self._prepared
        for key, one in _elements(value):
            at = (*place, key)
            watched = prepared.framework.watch(prepared.case.target, one, prepared.call)
            if watched is not None:
                self._tensors.append((at, watched))
            elif isinstance(one, (list, dict)):
                self._containers.append((one, one.copy()))
            if isinstance(one, (list, tuple, dict)):
                self._watch(at, one)

    def look(self) -> Note | None:
        """Finds what the first call wrote to. Returns a note if that cannot be restored."""
        written = [(place, one) for place, one in self._tensors if one.is_changed()]
        grown = [pair for pair in self._containers if not _same(*pair)]
        self._tensors, self._containers = [], []
        if not written and not grown:
            return None
        steps = [_refilling(*pair) for pair in grown]
        try:
            made = self._prepared.copy().arguments if written else {}
            steps += [partial(one.restore, _at(made, place)) for place, one in written]
            for step in steps:
                step()
        except Exception as error:
            reason = self._prepared.framework.refusal(error)
            if reason is None and not isinstance(error, OpperfError):
                reason = f"{type(error).__name__}: {error}"
            names = ", ".join(dict.fromkeys(str(place[0]) for place, _ in written))
            return Note(
                "",
                NoteCode.WRITTEN,
                f"a call writes to {names}, which cannot be restored: every further call has what "
                f"the one before it left ({one_line(reason or str(error))})",
            )
        self.restore = steps[0] if len(steps) == 1 else lambda: [step() for step in steps]
        return None


def refreshed(prepared: PreparedCase) -> Restore:
    """Returns what gives the inputs of a case other contents. Raises `UnsupportedError` for a case
    whose inputs cannot have them."""
    if not isinstance(prepared.called, RefreshedInputs):
        option = DECLARED["fresh_contents"].option
        raise UnsupportedError(f"{option} needs a model whose inputs can be written to; omit it")
    return prepared.called.refresh_inputs


def _elements(value: Any) -> Iterator[tuple[Any, Any]]:
    return iter(value.items() if isinstance(value, dict) else enumerate(value))


def _same(container: Any, before: Any) -> bool:
    """Whether a list or dict has the elements that it had."""
    now, then = list(_elements(container)), list(_elements(before))
    return len(now) == len(then) and all(
        key == other and one is element
        for (key, one), (other, element) in zip(now, then, strict=True)
    )


def _refilling(container: Any, before: Any) -> Restore:
    """Returns what gives a list or dict the elements that it had."""

    def refill() -> None:
        container.clear()
        if isinstance(container, dict):
            container.update(before)
        else:
            container.extend(before)

    return refill


def _at(arguments: Any, place: Place) -> Any:
    for key in place:
        arguments = arguments[key]
    return arguments
