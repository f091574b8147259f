"""How much memory a process took at its peak."""

import re
import sys
from pathlib import Path

_STATUS = Path("/proc/self/status")


def peak_bytes() -> int:
    """The most memory that this process has had since it began.

    Where Linux tells, that of its own program: what `getrusage` says there includes
    the process that started it.
    """
    if _STATUS.exists():
        found = re.search(r"VmHWM:\s+(\d+) kB", _STATUS.read_text())
        if found:
            return 1024 * int(found[1])
    import resource  # noqa: PLC0415 (not everywhere)

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak
