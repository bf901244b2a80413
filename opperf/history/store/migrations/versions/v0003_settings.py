"""Settings of the check that found an event."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Makes the column; of earlier events it is empty."""
    column = sa.Column("settings", sa.String(), nullable=False, server_default="")
    op.add_column("events", column)
