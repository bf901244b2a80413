"""Reports on a history."""
