"""Names that functions of NumPy have had, and what has taken the place of each.

Source: the migration guide of NumPy 2.0, and the release notes of 1.18 to 2.4.
"""

SUCCESSORS = {
    "alltrue": "all",
    "cumproduct": "cumprod",
    "in1d": "isin",
    "msort": "sort",
    "product": "prod",
    "rank": "ndim",
    "round_": "round",
    "row_stack": "vstack",
    "sometrue": "any",
    "trapz": "trapezoid",
}
