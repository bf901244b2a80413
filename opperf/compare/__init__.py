"""Statistics and verdicts: from replicates of A and B to what changed between them."""
