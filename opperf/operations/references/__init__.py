"""References of operations, with inputs by role, in NumPy and SciPy.

The reference of an operation is the function of its name in the operation's module, or what
`REFERENCES` there has for it. Nothing here depends on a framework. Planning and listing import none
of it: `opperf.operations` has the name of each operation's module, which is imported when the
reference is first used.
"""
