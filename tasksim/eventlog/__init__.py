"""The event log: the one record of a run, simulated or measured.

Rule 1: one row an occurrence; nothing here knows where a log came from.
Rule 2: what a side could not see is absent (-1), not invented.
"""
