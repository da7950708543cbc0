"""Numbers from logs: estimates with intervals, and the summary of a run.

Rule: metrics read logs; they know neither engines nor live runs.
"""
