"""Proofs about a fitted model: what holds at every input, not only at those tried."""
