"""Enforcing rules: refinement in rounds, and hard rules."""
