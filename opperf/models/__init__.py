"""Suites of models: collections that experiments select from by name."""
