"""`opperf explain`: which functions made the difference between two counts of instructions."""
