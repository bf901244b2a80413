"""Parts of a trace: the calls of some steps, and those below a label."""

from __future__ import annotations

import bisect
import fnmatch
import re
from collections.abc import Iterable, Mapping, Sequence

from opperf.errors import UsageError, suggest
from opperf.traces.trace import Call, Node, Trace, unmarked

RANGE = re.compile(r"(\d+)(?::(\d+))?")
NUMBER = re.compile(r"\d+")


def read_steps(text: str) -> tuple[int, int]:
    """Returns the first step of `A` or `A:B`, and the one after the last. Raises `UsageError`."""
    match = RANGE.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"--steps {text}: write the number of a step, or A:B for those before B")
    first = int(match[1])
    end = int(match[2]) if match[2] else first + 1
    if end <= first:
        raise UsageError(f"--steps {text}: no step in it; A:B are the steps from A up to B-1")
    return first, end


def by_step(trace: Trace, nodes: Iterable[Node]) -> list[tuple[Node, list[Node]]]:
    """Returns the labels of the outermost steps, in their order, each with the calls of its step:
    those that began between it and the next one on any thread, as the backward pass has one of its
    own; without those that are known to have begun after its end, or in what had not ended when
    the recording did, which the trace lacks."""
    labels = trace.outer_steps()
    starts = [label.id for label in labels]
    found: list[list[Node]] = [[] for _ in labels]
    for node in nodes:
        index = bisect.bisect_right(starts, node.id) - 1
        if index < 0 or _began_after(node, labels[index]):
            continue
        outermost = (node, *trace.ancestors(node.id))[-1].parent
        if outermost in trace.nodes or outermost < labels[index].id:
            found[index].append(node)
    return list(zip(labels, found, strict=True))


def _began_after(node: Node, label: Node) -> bool:
    end = label.start_ns + label.time_ns
    return label.time_ns >= 0 and node.start_ns >= 0 and node.start_ns > end


def in_steps(trace: Trace, nodes: Sequence[Node], steps: str) -> list[Node]:
    """Returns the calls in some steps. Raises `UsageError` for a step that is lacking."""
    if not steps:
        return list(nodes)
    first, end = read_steps(steps)
    numbered: dict[int, list[Node]] = {}
    for label, own in by_step(trace, nodes):
        number = NUMBER.search(label.name)
        assert number is not None
        numbered.setdefault(int(number[0]), own)
    lacking = next((number for number in range(first, end) if number not in numbered), None)
    if lacking is not None:
        known = ", ".join(map(str, numbered))
        what = f"its labels are of the steps {known}" if known else "it has no labels of steps"
        raise UsageError(f"--steps {steps}: {trace.name} has no step {lacking}; {what}")
    found = [node for number in range(first, end) for node in numbered[number]]
    return sorted(found, key=lambda node: node.id)


def below_label(trace: Trace, nodes: Sequence[Node], name: str) -> list[Node]:
    """Returns the calls below a label. Raises `UsageError` for one that no call is below."""
    if not name:
        return list(nodes)
    known: dict[str, None] = {}
    found = []
    for node in nodes:
        labels = {
            label
            for above in trace.ancestors(node.id)
            if not trace.is_operator(above)
            for label in (above.name, unmarked(above.name))
        }
        known.update(dict.fromkeys(sorted(labels)))
        if name in labels:
            found.append(node)
    if not found:
        raise UsageError(
            f"--subgraph {name}: no call of {trace.name} is below such a label"
            f"{suggest(name, known)}"
        )
    return found


def skip_reasons(trace: Trace, nodes: Sequence[Node], skip: Mapping[str, str]) -> dict[int, str]:
    """Returns the index of each call that is omitted as the user wants it, with the reason.

    Raises `UsageError` for a pattern that matches no call.
    """
    names = {index: _names_of(trace.calls[index]) for index in {node.call for node in nodes}}
    found: dict[int, str] = {}
    for pattern, reason in skip.items():
        wanted = pattern.replace("::", ".")
        matching = {
            index
            for index, known in names.items()
            if any(fnmatch.fnmatchcase(name, wanted) for name in known)
        }
        if not matching:
            known = dict.fromkeys(sorted(name for own in names.values() for name in own))
            raise UsageError(
                f"--skip {pattern}: no call of such an operator in {trace.name}"
                f"{suggest(wanted, known)}"
            )
        text = reason or f"--skip {pattern}"
        found.update((place, text) for place, node in enumerate(nodes) if node.call in matching)
    return found


def _names_of(call: Call) -> tuple[str, ...]:
    """`aten.add`, `add`, `aten.add.Tensor`; those of a collective operation are its own."""
    if call.collective:
        return (call.collective,)
    own = call.path.rpartition(".")[2]
    return (call.path, own, f"{call.path}.{call.overload}") if call.overload else (call.path, own)
