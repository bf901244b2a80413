"""Cases measured by the nodes of a Ray cluster: `--executor ray`."""
