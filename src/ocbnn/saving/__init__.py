"""A fitted model on disk: written whole, and read back as it was."""
