"""How fast the library is, beside what the same machine can do."""

from ocbnn.bench.suite import CASES as CASES, run_bench as run_bench
