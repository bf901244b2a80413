"""Helper modules that MXNet's users import by name; their code is in `opperf.mxnet_api`."""
