"""Runs of suites: from the benches of a file to the cases that are measured."""
