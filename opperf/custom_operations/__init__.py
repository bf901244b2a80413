"""Custom operators in Python that opperf measures."""
