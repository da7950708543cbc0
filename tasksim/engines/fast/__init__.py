"""The fast engine: the same run as the reference, compiled.

Rule 1: it decides nothing of its own: its rows are those of the reference engine, bit for bit, and
tests hold them to that. What it cannot do yet ``supports`` says, and the reference does it.
Rule 2: whole numbers in flat arrays; one function a kind of event; the arithmetic of ``policies``
is compiled as it stands.
"""
