"""Requests about suites: their files, the environments of their benches, and their results."""
