"""Holds configurations that name a model against the calls of that model."""
