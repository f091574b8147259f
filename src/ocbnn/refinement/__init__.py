"""Rules held whatever it takes: refinement round by round, and hard rules."""
