"""What makes this machine's timings noisy: what is set, what else runs, and a measured test.

Every fact is read by a probe, a function in one of the tables of `processor`, `contention` and
`process`. `examine` makes findings of them for `opperf doctor`, and a short form for every run's
environment."""
