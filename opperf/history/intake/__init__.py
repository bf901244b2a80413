"""Reads runs to add to a history: opperf's own, and files of other tools."""
