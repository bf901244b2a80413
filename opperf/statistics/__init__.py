"""Verdicts from measurements: a module for each statistical assumption, and what they share."""
