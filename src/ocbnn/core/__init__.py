"""Types, errors, points and randomness: what every other room stands on."""
