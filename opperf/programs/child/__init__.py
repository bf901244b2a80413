"""Modules of the processes of programs. They import the standard library alone, and are loaded by
their paths: a program's environment need not have what opperf needs."""
