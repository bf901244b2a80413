"""Results of runs of suites, and whether each bench did what it should."""
