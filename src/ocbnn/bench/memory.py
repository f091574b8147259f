"""Peak memory of a process."""

import re
import sys
from pathlib import Path

_STATUS = Path("/proc/self/status")


def peak_bytes() -> int:
    """The peak memory of this process since it started.

    On Linux it is read from /proc, because `getrusage` includes the parent process
    there.
    """
    if _STATUS.exists():
        match = re.search(r"VmHWM:\s+(\d+) kB", _STATUS.read_text())
        if match:
            return 1024 * int(match[1])
    import resource  # noqa: PLC0415 (not everywhere)

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak
