"""Planning, measuring in worker processes, progress, and the command `run`."""
