"""Recordings of programs: which calls of operators a program makes, how often, and where."""
