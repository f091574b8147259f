"""Benchmarks: the library's speed compared with what the same machine can do."""

from ocbnn.bench.suite import CASES as CASES, run_bench as run_bench
