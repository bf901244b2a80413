"""Custom operators, written in Python, that opperf measures."""
