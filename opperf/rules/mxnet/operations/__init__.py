"""The canonical operations of MXNet's operators, of both major versions: of the kinds that have too
many rows of their own for one module. Those of the others are beside their rows."""
