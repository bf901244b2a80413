"""Functions for Python programs: benchmarks of own calls and of selections, comparisons."""
