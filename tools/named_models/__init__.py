"""Holds configurations that name a model against the calls of that model."""

from __future__ import annotations

from typing import Any

Call = dict[str, Any]
"""A recorded call: an operator's base name, the shapes of its tensors and of its results, and its
other arguments by name."""
