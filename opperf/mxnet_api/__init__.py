"""The code of the modules that MXNet's users import by name: `utils` and `nd_operations`."""

FRAMEWORK = "mxnet"
"""The framework whose operators these functions measure."""
