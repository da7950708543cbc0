"""How long a receiver keeps a task after it ended."""

from tasksim.policies import ABSENT, UNLIMITED


def granted_ns(requested_ns: int, default_ns: int, longest_ns: int) -> int:
    """Retention granted, in ns: what was asked for, else the default, at most the longest (R18).

    *requested_ns* may be ABSENT; all others, and the answer, may be UNLIMITED.
    """
    wanted_ns = default_ns if requested_ns == ABSENT else requested_ns
    if longest_ns == UNLIMITED:
        return wanted_ns
    if wanted_ns == UNLIMITED:
        return longest_ns
    return min(wanted_ns, longest_ns)
