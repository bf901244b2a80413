"""Suite files: YAML that says which benches are run, where, and what counts as failure."""

SUFFIXES = (".yaml", ".yml")
"""Extensions of suite files."""
