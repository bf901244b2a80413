"""Validation, scores, reports and comparisons of the records of suites."""
