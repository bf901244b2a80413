"""Where cases come from: the registry with rules, a run file, a call in Python."""
