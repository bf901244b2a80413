"""The nodes of a trace as a tree, those of one name below one place as one row."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from opperf.plurals import pluralize
from opperf.traces.overview import total_ns
from opperf.traces.trace import Node, Trace

MOST_CHILDREN = 12
"""Rows below one row, those of the most calls; the others are one row."""


class Row(NamedTuple):
    """Nodes of one name below one place."""

    name: str
    depth: int
    nodes: int
    first: int
    """Number of the first; 0 of a row of several names."""
    calls: int
    """Number of topmost calls in them."""
    time_ns: int
    """Of these calls; -1 if unknown."""


class Amount(NamedTuple):
    """Topmost calls in a node, it included, and their time; -1 if unknown."""

    calls: int
    time_ns: int


NONE = Amount(0, -1)


def outline_of(trace: Trace, depth: int, root: int | None = None) -> list[Row]:
    """Returns the rows of a trace, or of what is below one of its nodes, to a depth from 1 on."""
    children = children_of(trace)
    tops = sorted(node.id for node in trace.nodes.values() if _is_top(trace, node))
    amounts = _amounts(trace, children, tops)
    rows: list[Row] = []
    begin = tops if root is None else children.get(root, ())
    _add(trace, children, amounts, begin, 0, depth, rows)
    return rows


def children_of(trace: Trace) -> Mapping[int, list[int]]:
    """Returns the numbers of the nodes below each node, in their order."""
    found: dict[int, list[int]] = defaultdict(list)
    for identity in sorted(trace.nodes):
        node = trace.nodes[identity]
        if node.parent != identity:
            found[node.parent].append(identity)
    return found


def _is_top(trace: Trace, node: Node) -> bool:
    return node.parent == node.id or node.parent not in trace.nodes


def _amounts(
    trace: Trace, children: Mapping[int, Sequence[int]], tops: Iterable[int]
) -> Mapping[int, Amount]:
    found = {node.id: Amount(1, node.recorded_ns) for node in trace.topmost()}
    ordered = list(tops)
    for identity in ordered:
        ordered += children.get(identity, ())
    for identity in reversed(ordered):
        node = trace.nodes[identity]
        own = found.setdefault(identity, NONE)
        if node.parent in trace.nodes and node.parent != identity:
            above = found.get(node.parent, NONE)
            time = total_ns((above.time_ns, own.time_ns))
            found[node.parent] = Amount(above.calls + own.calls, time)
    return found


NUMBERED = re.compile(r"\d+")


def _key(trace: Trace, node: Node) -> str:
    """Steps are one row, whatever their numbers."""
    return NUMBERED.sub("*", node.name) if trace.is_step(node) else node.name


def _add(
    trace: Trace,
    children: Mapping[int, Sequence[int]],
    amounts: Mapping[int, Amount],
    nodes: Iterable[int],
    level: int,
    depth: int,
    rows: list[Row],
) -> None:
    groups: dict[str, list[int]] = defaultdict(list)
    for identity in nodes:
        groups[_key(trace, trace.nodes[identity])].append(identity)
    made = {name: _row(name, level, own, amounts, first=own[0]) for name, own in groups.items()}
    ranked = sorted(made, key=lambda name: (-made[name].calls, -made[name].nodes))
    # One more row would stand in the place of one.
    shown = set(ranked if len(ranked) <= MOST_CHILDREN + 1 else ranked[:MOST_CHILDREN])
    for name in made:
        if name in shown:
            rows.append(made[name])
            if level + 1 < depth:
                below = [child for identity in groups[name] for child in children.get(identity, ())]
                _add(trace, children, amounts, below, level + 1, depth, rows)
    left = [name for name in made if name not in shown]
    if left:
        others = [identity for name in left for identity in groups[name]]
        rows.append(_row(pluralize(len(left), "other name"), level, others, amounts, first=0))


def _row(
    name: str, level: int, nodes: Sequence[int], amounts: Mapping[int, Amount], first: int
) -> Row:
    found = [amounts[identity] for identity in nodes if identity in amounts]
    calls = sum(amount.calls for amount in found)
    return Row(name, level, len(nodes), first, calls, total_ns(amount.time_ns for amount in found))
