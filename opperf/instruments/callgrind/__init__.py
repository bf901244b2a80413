"""Counts of executed instructions, by Valgrind's tool callgrind, which this process runs under."""
