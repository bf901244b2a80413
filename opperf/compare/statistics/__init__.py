"""From measurements to verdicts: a module for each statistical assumption, and what they share."""
