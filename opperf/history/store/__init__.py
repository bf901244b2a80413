"""The store of a history: SQLite, or PostgreSQL by its URL."""
