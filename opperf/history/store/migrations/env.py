"""Runs the migrations on the connection that opens the store."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()
