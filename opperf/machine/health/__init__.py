"""Finds what makes this machine's timings noisy: settings, other load, and measured jitter.

Every fact is read by a probe, a function in one of the tables of `processor`, `contention` and
`opperf.machine.gpus`. `examine` makes findings of them for `opperf doctor`,
and a short form for every run's environment."""
