"""The figures of a run as one value."""

from __future__ import annotations

import numpy as np
import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

FIGURE = np.dtype([("series", "<i8"), ("median", "<f8"), ("low", "<f8"), ("high", "<f8")])

FIGURES = (
    "SELECT series_id, median, low, high FROM points "
    "WHERE run_id = :run AND median IS NOT NULL ORDER BY series_id"
)


def upgrade() -> None:
    """Makes the table, with what the points of earlier runs have."""
    table = op.create_table(
        "run_figures",
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("run_id"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], ondelete="CASCADE"),
    )
    connection = op.get_bind()
    if connection.dialect.name == "postgresql":
        # Doubles hardly become smaller by compression, which takes longer than the rest.
        op.execute("ALTER TABLE run_figures ALTER COLUMN content SET STORAGE EXTERNAL")
    for run in connection.execute(sa.text("SELECT id FROM runs")).scalars().all():
        rows = [
            tuple(np.nan if value is None else value for value in row)
            for row in connection.execute(sa.text(FIGURES), {"run": run})
        ]
        content = np.array(rows, FIGURE).tobytes()
        connection.execute(table.insert().values(run_id=run, content=content))
