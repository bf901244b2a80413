"""Nodes of a cluster, compared with each other by the cases that each has measured."""
