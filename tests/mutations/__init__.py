"""Damaged files, settings and requests: each costs its command one line and exit code 2."""
