"""What is MXNet's alone behind the modules that its users import by name: `utils` and
`nd_operations`."""

FRAMEWORK = "mxnet"
"""The framework whose operators these functions measure."""
