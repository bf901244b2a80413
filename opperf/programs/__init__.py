"""Programs measured in processes of their own, without changing them: by events that they write."""
