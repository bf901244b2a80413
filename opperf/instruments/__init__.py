"""Instruments: each measures one aspect of a prepared case, and declares the metrics it writes.

This module and those that declare an instrument are imported by whatever prints metrics; what
measures is imported by a process that measures."""
