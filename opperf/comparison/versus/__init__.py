"""Sessions whose arms are implementations of the same operations: what they say, and the report."""
