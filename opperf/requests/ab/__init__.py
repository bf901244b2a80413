"""Sessions that measure arms in turn: what `opperf ab` and each step of `opperf bisect` does."""
