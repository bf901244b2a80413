"""A session of `opperf ab`: two arms, measured in turns in fresh processes."""
