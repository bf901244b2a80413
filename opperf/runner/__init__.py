"""Plans, worker processes, measurements, progress, and the command `run`."""
