"""The code of the modules that MXNet's users import by name: `utils` and `nd_operations`."""

FRAMEWORK = "mxnet"
