"""Certificates: what is proved of a model, written down, and checked again."""
