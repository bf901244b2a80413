"""References of what operators compute, tables of what frameworks call them, and the comparison."""
