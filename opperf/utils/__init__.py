"""Helper modules that MXNet's users import by name; `opperf.mxnet_api` has what they do."""
