"""Where an operator's cases are made: `opperf.rule_places("relu")`."""

from __future__ import annotations

from typing import Any

from opperf.api.run import from_keywords, text_of, with_names
from opperf.model import RuleUse
from opperf.requests.declaring import unsaid
from opperf.requests.registry import ShowRequest
from opperf.sources.registry import rule_uses


def rule_places(operator: Any, **options: Any) -> tuple[RuleUse, ...]:
    """Returns file and line of each rule, entry of a table, row and exception that made an
    operator's cases, as `opperf show --rules` prints them.

    Parameters
    ----------
    operator : str or function
        Its name, alias or dotted path.
    **options
        Options of `opperf show`, named as there, with `_` for `-`: `framework`, `size`, `dtype`.

    Raises
    ------
    OpperfError
        For names and values that cannot be used.
    """
    request = from_keywords(ShowRequest, [text_of(operator)], with_names(options))
    return rule_uses(request.plan_rules(unsaid))
