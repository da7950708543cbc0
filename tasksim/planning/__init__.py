"""What is done with runs: replications, provenance, comparisons with live runs.

Rule: nothing here prints; what it finds it returns.
"""
