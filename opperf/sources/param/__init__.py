"""Configurations of PARAM's compute benchmarks as a source: operators, each with lists of arguments,
as JSON."""
