"""Configurations of PARAM's compute benchmarks as a source: operators with lists of arguments."""
