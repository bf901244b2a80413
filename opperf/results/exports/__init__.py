"""Run files in the formats of tools that people already watch benchmarks with."""
