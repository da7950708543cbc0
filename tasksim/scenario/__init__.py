"""Scenarios: what a run depends on, from the file to every drawn fate.

Rule: a scenario is checked once, completely, before anything runs.
"""
