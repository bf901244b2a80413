"""Processes that opperf starts: how they are started, asked and ended."""
