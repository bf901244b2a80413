"""Validation of the results of a suite, in layers, by its stored runs."""
