"""An index of the outcomes that are no figures."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Makes the index."""
    outcomes = sa.text("status != 'ok'")
    op.create_index(
        "points_without_figure",
        "points",
        ["run_id"],
        sqlite_where=outcomes,
        postgresql_where=outcomes,
    )
