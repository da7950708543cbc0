"""Load on real receivers: Locust users around the requester machine.

Rule: everything may be used here but engines and planning.
"""
