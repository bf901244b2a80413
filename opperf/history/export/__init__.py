"""Writes a history in the forms of other tools."""
