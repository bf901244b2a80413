"""Helper modules that MXNet's users import by name."""
