"""Run files in the formats of other benchmark tools."""
