"""The words experts use: expressions and conditions, their text, and their columns."""
