"""The networks in MXNet: Gluon blocks, which hybridize."""
