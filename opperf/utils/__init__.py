"""Helper modules that users of opperf import by name, thin over the rest of the package."""
