"""Experiments over models: their records, and what is computed from them."""
