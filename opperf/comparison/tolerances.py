"""Tolerances of metrics that are the same on every run: those that metrics declare, replaced by a
user's for all metrics, for one, or for one of some operators."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

import msgspec

from opperf.errors import UsageError, suggest, unknown
from opperf.metrics import metrics_by_name
from opperf.model import Metric, Operator, Struct
from opperf.shares import share_text
from opperf.sources.selecting import find_matching, make_matcher

BOTH = re.compile(r"\s+or\s+")
"""Between a share and an amount, of which the larger one counts."""

FORM = "write 5% or 0.05 for a share, 200 for an amount, or '1% or 200' for the larger of both"

ASSIGNED = "[OPERATOR:]METRIC=TOLERANCE"
"""Form of the option."""


class Rule(Struct, frozen=True):
    """A tolerance that a user sets."""

    metric: str
    share: float | None = None
    """Of the base's value; None where only an amount is set."""
    amount: float | None = None
    """In the metric's unit; None for the metric's own, beside a share."""
    operator: str = ""
    is_for_some: bool = False
    """Whether the pattern has to match: that of a command, not of a file for many commands."""


class Tolerances(Struct, frozen=True):
    """Tolerances that a user sets in place of those that metrics declare."""

    share: float | None = None
    rules: tuple[Rule, ...] = ()
    """Of two for the same metric and operator, the later one counts."""

    def of(self, metric: Metric, operators: Iterable[str] = ()) -> Metric:
        """Returns a metric with its tolerances: the rule that names most of it decides."""
        found = metric
        if self.share is not None:
            found = msgspec.structs.replace(found, relative_tolerance=self.share)
        names = [name for name in (metric.forward, metric.name) if name]
        rules = [
            rule
            for rule in self.rules
            if rule.metric in names and (not rule.operator or matching(rule.operator, operators))
        ]
        # A metric of the backward pass has its own rules, and those of the forward pass.
        rules.sort(key=lambda rule: (bool(rule.operator), names.index(rule.metric)))
        for rule in rules[-1:]:
            found = msgspec.structs.replace(
                found,
                relative_tolerance=0.0 if rule.share is None else rule.share,
                absolute_tolerance=(
                    metric.absolute_tolerance if rule.amount is None else rule.amount
                ),
            )
        return found

    def check(self, operators: Iterable[str]) -> None:
        """Raises `UsageError` for a pattern of a command that matches none of the operators."""
        names = list(dict.fromkeys(operators))
        for rule in self.rules:
            if rule.is_for_some and rule.operator and not matching(rule.operator, names):
                raise UsageError(
                    f"--tolerance: no operator in either file matches {rule.operator!r}"
                    f"{suggest(rule.operator, names)}"
                )


def matching(pattern: str, names: Iterable[str]) -> set[str]:
    """Returns the names of operators that a pattern matches."""
    operators = [Operator(framework="", namespace="", name=name) for name in names]
    return {operator.name for operator in find_matching(pattern, operators)}


def parse_rule(text: str) -> Rule:
    """Returns the rule of `[OPERATOR:]METRIC=TOLERANCE`. Raises `UsageError` for any other text."""
    assigned, equals, tolerance = text.rpartition("=")
    operator, colon, metric = assigned.strip().rpartition(":")
    if not equals or not metric or (colon and not operator):
        raise UsageError(f"{text!r} is not of the form {ASSIGNED}, e.g. instructions=1%")
    rule = make_rule(metric.strip(), tolerance, operator)
    return msgspec.structs.replace(rule, is_for_some=True)


def make_rule(metric: str, value: object, operator: str = "") -> Rule:
    """Returns the rule for a metric, and for an operator's pattern. Raises `UsageError` for an
    unknown metric, one that is not the same on every run, a value that is no tolerance, and a
    malformed pattern."""
    known = {name: one for name, one in metrics_by_name().items() if one.is_steady}
    if metric not in known:
        if metric in metrics_by_name():
            raise UsageError(
                f"{metric} has no tolerance, as it differs from run to run; the threshold is for it"
            )
        raise unknown("metric", metric, known)
    share, amount = _parse_tolerance(value)
    make_matcher(operator, ())
    return Rule(metric, share, amount, operator)


def _parse_tolerance(value: object) -> tuple[float | None, float | None]:
    fault = UsageError(f"{value!r} is not a tolerance; {FORM}")
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise fault
    found: dict[str, float] = {}
    for part in BOTH.split(str(value).strip()):
        number, percent, rest = part.partition("%")
        try:
            read = float(number)
        except ValueError:
            raise fault from None
        is_share = bool(percent) or 0 < read < 1
        kind = "share" if is_share else "amount"
        if rest.strip() or kind in found or not 0 <= read < math.inf:
            raise fault
        found[kind] = read / 100 if percent else read
    return found.get("share"), found.get("amount")


def tolerance_text(metric: Metric) -> str:
    """Returns a metric's tolerances as text: `1% or 50 instructions`."""
    share, amount = metric.relative_tolerance, metric.absolute_tolerance
    parts = [share_text(share)] if share else []
    parts += [f"{amount:.15g} {metric.unit}"] if amount else []
    return " or ".join(parts) or "0"
