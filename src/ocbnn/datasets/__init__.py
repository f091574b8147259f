"""Real recordings, from raw files to tables for studies."""
