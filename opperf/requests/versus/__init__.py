"""Implementations of operations side by side: `opperf versus`."""
