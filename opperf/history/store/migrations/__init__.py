"""Migrations of a store's tables, in order, as Alembic runs them."""
