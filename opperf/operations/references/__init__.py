"""References of operations, with inputs by role, in NumPy and SciPy: the function of the
operation's name in its module, or what `REFERENCES` there has for it. Nothing here depends on a
framework. Planning and listing import none of it."""
