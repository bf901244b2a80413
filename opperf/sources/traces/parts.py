"""Parts of a trace: the calls of some steps, and those below a label."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping, Sequence

from opperf.errors import UsageError, suggest
from opperf.sources.traces.trace import LABEL, Node, Trace

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


def step_labels(trace: Trace) -> dict[int, tuple[int, int | None]]:
    """Returns the steps by the numbers in their labels: the node of each label, and that of the
    next one, None for the last one. The backward pass is on another thread, not below
    the label: a step has what began between two labels."""
    nodes = trace.outer_steps()
    found: dict[int, tuple[int, int | None]] = {}
    for node, after in zip(nodes, (*nodes[1:], None), strict=False):
        number = NUMBER.search(node.name)
        assert number is not None
        found.setdefault(int(number[0]), (node.id, None if after is None else after.id))
    return found


def in_steps(trace: Trace, nodes: Sequence[Node], steps: str) -> list[Node]:
    """Returns the calls in some steps. Raises `UsageError` for a step that the trace lacks."""
    if not steps:
        return list(nodes)
    first, end = read_steps(steps)
    labels = step_labels(trace)
    lacking = [number for number in range(first, min(end, first + 1000)) if number not in labels]
    if lacking:
        known = ", ".join(map(str, labels))
        what = f"its labels are of the steps {known}" if known else "it has no labels of steps"
        raise UsageError(f"--steps {steps}: {trace.name} has no step {lacking[0]}; {what}")
    spans = [labels[number] for number in range(first, end)]
    return [
        node
        for node in nodes
        if any(begin < node.id and (after is None or node.id < after) for begin, after in spans)
    ]


def _label_of(node: Node) -> str:
    match = LABEL.fullmatch(node.name)
    return match[1] if match else node.name


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
            for label in (above.name, _label_of(above))
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
    paths = [trace.calls[node.call].path for node in nodes]
    found: dict[int, str] = {}
    for pattern, reason in skip.items():
        wanted = pattern.replace("::", ".")
        matching = [
            index
            for index, path in enumerate(paths)
            if any(fnmatch.fnmatchcase(name, wanted) for name in (path, path.rpartition(".")[2]))
        ]
        if not matching:
            raise UsageError(
                f"--skip {pattern}: no call of such an operator in {trace.name}"
                f"{suggest(wanted, dict.fromkeys(paths))}"
            )
        found.update(dict.fromkeys(matching, reason or f"--skip {pattern}"))
    return found
