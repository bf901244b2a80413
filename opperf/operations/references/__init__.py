"""References of operations, with inputs by role, in NumPy and SciPy.

Nothing here depends on a framework. Planning and listing import none of it: `opperf.operations` has
the name of each operation's module, which is imported when the reference is first used.
"""
