"""The reference engine: the protocol machines inside SimPy, every message explicit.

Rule 1: readable first. It is the oracle that faster engines are held to.
Rule 2: every event has a rank (``protocol.ties``); SimPy's insertion order decides nothing.
"""
