"""The categories of operators and the namespaces of MXNet, for the modules that its users import
by name: `utils` and `nd_operations`."""

FRAMEWORK = "mxnet"
