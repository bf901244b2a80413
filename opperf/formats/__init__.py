"""Formats of other tools, a module each: read and written."""
