"""The live side: a receiver that serves, requesters that drive, and what they record.

Rule 1: what is said is the protocol machines' business; this side moves bytes and reads clocks.
Rule 2: one clock, ``time.monotonic_ns``; it is shared by the processes of one host.
Rule 3: servers listen on loopback and load goes to loopback, unless a user says otherwise.
"""
