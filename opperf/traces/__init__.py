"""Execution traces and profiler traces as sources."""
