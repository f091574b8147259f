"""Which lines of the package a test run has run, in all of its processes."""
