"""PARAM's files: the form of a configuration with its arguments, and lines of results."""
