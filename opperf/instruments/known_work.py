"""The operations and bytes of a call, as far as they are known without another one."""

from __future__ import annotations

from typing import Any, NamedTuple

from opperf.frameworks.base import CallExtents, Flops
from opperf.instruments.prepared import PreparedCase
from opperf.model import KnownBy, OperatorTarget, Pass


class KnownWork(NamedTuple):
    """The operations and bytes of a call, each with how it is known."""

    flops: dict[Pass, tuple[KnownBy, Flops]]
    moved: int
    """Bytes of the forward pass."""
    moved_by: KnownBy | None
    """None if it moves none, and no formula says so."""
    operation: str
    """The canonical operation; empty if it is unknown."""
    fault: str = ""
    """The error of a formula that failed."""


def known_work(prepared: PreparedCase, extents: CallExtents, results: Any) -> KnownWork:
    """Returns the operations and bytes of a call where they are known by formula, or by the
    framework's own; else the bytes of all its tensors. What only makes views has none."""
    # It needs NumPy, which commands that measure nothing do without.
    from opperf.rules.work import Amounts, work_of

    case, framework = prepared.case, prepared.framework
    is_own = prepared.bound.function is None and framework.naming.is_own(case.target)
    work, fault = Amounts(), ""
    if is_own:
        try:
            work = work_of(case, framework, extents)
        except Exception as error:
            # A figure beside the times: a formula that fails must not cost them.
            fault = f"{type(error).__name__}: {error}"
    if extents.are_views:
        work = work._replace(flops=0.0, bytes=0)
    flops: dict[Pass, tuple[KnownBy, Flops]] = {}
    if work.flops is not None:
        flops["forward"] = "formula", Flops(work.flops)
    elif isinstance(case.target, OperatorTarget):
        counted = framework.profilers.call_flops(case, prepared.arguments, results)
        if counted is not None:
            flops["forward"] = "count", counted
    if work.flops_backward is not None:
        flops["backward"] = "formula", Flops(work.flops_backward)
    if work.bytes is not None:
        return KnownWork(flops, work.bytes, "formula", work.operation, fault)
    by: KnownBy | None = "minimal" if extents.moved else None
    return KnownWork(flops, extents.moved, by, work.operation, fault)
