"""References of operations, with inputs by role, in NumPy and SciPy.

Nothing here knows a framework, and nothing that plans or lists imports it: `opperf.operations`
names the module of each operation, which is loaded when its reference is asked for.
"""
