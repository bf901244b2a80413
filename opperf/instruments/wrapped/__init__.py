"""Programs that profile a process which makes the calls of cases: Nsight, perf, any other."""
