"""Finds what makes this machine's timings noisy: settings, other load, and measured jitter."""
