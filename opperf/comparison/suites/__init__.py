"""Scores and comparisons of runs of suites."""
