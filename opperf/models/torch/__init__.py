"""The networks in PyTorch: modules as its users write them."""
