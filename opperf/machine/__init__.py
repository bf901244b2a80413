"""This machine: cores, caches, GPUs, heap, clock and health, and the environment of a run."""
