"""Types, points, units and randomness: what every other room stands on."""
