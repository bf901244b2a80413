"""Hotspots: the operators of run files by the time of all their calls."""
