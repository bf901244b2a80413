"""Inputs of canonical operations, by role, for the operators of any framework. Each kind of
operation has a module."""

from __future__ import annotations

from opperf.rules.registering import families_in, modules_in

FAMILIES = families_in(modules_in(__name__))
