"""The canonical operations of PyTorch's operators, by overload (`add.Tensor`) or, for all overloads
without an entry of their own, by name (`add`): of the kinds that have too many rows of their own
for one module. Those of the others are beside their rows."""
