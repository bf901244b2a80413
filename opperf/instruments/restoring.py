"""Fresh inputs for each call: what a call writes to is found at the first one, and restored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from opperf.errors import UnsupportedError
from opperf.frameworks.base import Kept, Watched
from opperf.frameworks.models import RunnableModel
from opperf.frameworks.object_parts import containers, is_users
from opperf.frameworks.object_state import Item, KeptArray, ObjectState, Place, name_of
from opperf.instruments.prepared import PreparedCase, reason_of
from opperf.model import DECLARED, Note, NoteCode, ObjectTarget

Restore = Callable[[], object]


class FreshInputs:
    """Restores what the calls of a prepared case write to: its arguments, and all that a model or a
    user's layer keeps. To be made before the first call: what an operator's declaration says is
    known then; what a user's code does, `look` finds after the call, unless it has no arguments of
    its own, as a snippet's statement has none."""

    def __init__(self, prepared: PreparedCase) -> None:
        self._prepared = prepared
        self.restore: Restore | None = prepared.framework.restoring.restore(
            prepared.case, prepared.arguments, prepared.call
        )
        """Restores it, to be called between two calls; None if there is nothing to restore."""
        self._arguments: ObjectState | None = None
        if self.restore is None:
            self._arguments = ObjectState(
                prepared.arguments, partial(_watched, prepared), containers
            )
        self._called: ObjectState | None = None
        self._changing: list[Item] = []
        """Parts of it that each call changes."""
        if isinstance(prepared.called, RunnableModel):
            self._called = prepared.called.state
        elif isinstance(prepared.case.target, ObjectTarget) and is_users(
            type(prepared.called).__module__
        ):
            # An object of a user's class may keep something.
            self._called = ObjectState({"": prepared.called}, prepared.framework.restoring.keep)
        if prepared.case.settings.fresh_contents:
            model = prepared.called if isinstance(prepared.called, RunnableModel) else None
            if model is None or model.refresh_inputs is None:
                option = DECLARED["fresh_contents"].option
                raise UnsupportedError(
                    f"{option} needs a model whose inputs can be written to; omit it"
                )
            self.restore = model.refresh_inputs

    def look(self) -> Note | None:
        """Finds and restores what the first call wrote to. Returns a note if that fails."""
        arguments, called = self._arguments, self._called
        self._arguments = None
        written = [] if arguments is None else arguments.changed()
        try:
            self._make_contents(written)
            steps: list[Restore] = [item.restore for item in written]
            for step in steps:
                step()
            if called is not None:
                self._changing = self._settled(called, self._prepared.call)
                steps += [item.restore for item in self._changing]
                for step in steps:
                    step()
        except Exception as error:
            self._called = None
            names = dict.fromkeys(str(item.place[0]) for item in written)
            what = ", ".join(names) or "what it keeps"
            return Note(
                "",
                NoteCode.WRITTEN,
                f"a call writes to {what}, which cannot be restored: every further call has what "
                f"the one before it left ({reason_of(error, self._prepared.framework)})",
            )
        self._add(steps)
        return None

    def _add(self, steps: Sequence[Restore]) -> None:
        if steps:
            every = [*steps, *([] if self.restore is None else [self.restore])]
            self.restore = every[0] if len(every) == 1 else lambda: [step() for step in every]

    def _late(self) -> tuple[list[Item], list[Item]]:
        # Inputs that get other contents before each call are none of these.
        if self._called is None or self._prepared.case.settings.fresh_contents:
            return [], []
        return self._called.late(self._changing)

    def look_again(self, call: Callable[[], object]) -> bool:
        """Finds what calls after the first, which are like `call`, have changed of what is called,
        and restores it. Returns whether `restore` is another one since."""
        found, _ = self._late()
        if self._called is None or not found:
            return False
        before = set(map(id, self._changing))
        self._changing = self._settled(self._called, call)
        steps = [item.restore for item in self._changing if id(item) not in before]
        self._add(steps)
        return bool(steps)

    def unrestored(self) -> list[str]:
        """Returns what calls have changed of what is called that is not restored."""
        found, lost = self._late()
        return [name_of(item.place) for item in (*found, *lost)]

    def begin(self) -> None:
        """Has the next call begin as the first one did, whatever calls there were."""
        if self.restore is None:
            self.look()
        else:
            self.restore()

    def _settled(self, state: ObjectState, call: Callable[[], object]) -> list[Item]:
        """Returns what each call of a model or layer changes, and restores it. Where no step
        updates its parameters, the rest needs no copies any longer."""
        prepared = self._prepared

        def call_and_wait() -> None:
            call()
            prepared.framework.synchronize(prepared.case.settings.device)

        written = state.settle(call_and_wait)
        if prepared.case.settings.phase != "train":
            state.limit(written)
        return written

    def _make_contents(self, written: Iterable[Item]) -> None:
        anew = [
            (item.place, item.kept)
            for item in written
            if isinstance(item, KeptArray) and isinstance(item.kept, MadeAnew)
        ]
        made = self._prepared.copy().arguments if anew else {}
        for place, kept in anew:
            kept.contents = _at(made, place)


class MadeAnew(Kept):
    """A tensor among arguments, of which no copy is kept: made anew once it is written to."""

    def __init__(self, watched: Watched) -> None:
        self._watched = watched
        self.contents: Any = None

    def is_changed(self) -> bool:
        return self._watched.is_changed()

    def restore(self) -> None:
        self._watched.restore(self.contents)


def _watched(prepared: PreparedCase, value: Any) -> Kept | None:
    watched = prepared.framework.restoring.watch(prepared.case.target, value, prepared.call)
    return None if watched is None else MadeAnew(watched)


def _at(arguments: Any, place: Place) -> Any:
    for key in place:
        arguments = arguments[key]
    return arguments
