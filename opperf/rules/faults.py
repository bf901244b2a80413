"""Faults of code that makes an operator's inputs: each costs that operator, and not the run.

A new version of a framework may have an operator that a rule, the binding of its arguments or the
reading of a trace does not expect. What is wrong there is the reason why it has no inputs.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from opperf.errors import FailedRuleError, OpperfError, UnsupportedError, one_line
from opperf.rules.registering import NoInputs

T = TypeVar("T")

RULE = "its rule failed"
"""Beginning of the reason where the code of a rule, or of a binding of its arguments, fails."""
CASE = "its case could not be made"
"""Where the inputs are there, and no case can be made of them."""

PACKAGE = str(Path(__file__).parents[1]) + os.sep
"""Folder of opperf's own code, of which a reason names the innermost line."""


def guarded(make: Callable[[], T], what: str = RULE) -> T | NoInputs:
    """Returns what a function makes for an operator, or why none. Raises as `no_inputs` does."""
    try:
        return make()
    except Exception as error:
        return no_inputs(error, what)


def no_inputs(error: Exception, what: str) -> NoInputs:
    """Returns that code which makes something for an operator failed with this error, or that the
    operator supports no such inputs. Raises the other errors that opperf raises on purpose, which
    are the user's."""
    if isinstance(error, FailedRuleError):
        return NoInputs(f"{what}: {error}", is_fault=True)
    if isinstance(error, UnsupportedError):
        return NoInputs(str(error))
    if isinstance(error, OpperfError):
        raise error
    return NoInputs(f"{what}: {described(error)}", is_fault=True)


def described(error: Exception) -> str:
    """Returns `FILE:LINE: ERROR` of an error in opperf's code, as `rules/x.py:7: KeyError: 'a'`."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename.startswith(PACKAGE)]
    where = f"{own[-1].filename.removeprefix(PACKAGE)}:{own[-1].lineno}: " if own else ""
    return where + one_line(f"{type(error).__name__}: {error}")
