"""Files of snippets as a source: Python files that define `BENCHMARKS`."""
