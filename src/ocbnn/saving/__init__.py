"""A fitted model on disk: written completely, and read back unchanged."""
