"""Bisections: the commit that made operators slower or faster."""
