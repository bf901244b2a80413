"""The first tables: those of the schema, until one that is in use is changed."""

from __future__ import annotations

from alembic import op

from opperf.history.store.schema import METADATA

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Makes the tables."""
    connection = op.get_bind()
    METADATA.create_all(connection)
    if connection.dialect.name == "postgresql":
        # Doubles hardly become smaller by compression, which takes longer than the rest.
        op.execute("ALTER TABLE figures ALTER COLUMN content SET STORAGE EXTERNAL")
