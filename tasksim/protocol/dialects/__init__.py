"""Dialects: how messages look on the wire.

Rule 1: names of the wire stand here and nowhere else.
Rule 2: a codec knows no state. What a peer sends is checked here, completely, before anything
else sees it; what is wrong becomes a ``ProtocolError``.
"""
