"""Real recordings, from raw files to tables that a study can use."""
