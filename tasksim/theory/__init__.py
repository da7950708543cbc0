"""Closed forms and exact numerics that simulations and live runs are held against.

Rule 1: theory shares no code with what it judges: of this package it imports ``units`` at most.
Rule 2: seconds and rates a second, as floats, with the unit in the name; SciPy where SciPy has it.
Rule 3: each public function names its model, formula, source and validity, and outside its validity
raises ``InvalidModelError``.
"""

from tasksim.theory.validity import InvalidModelError

__all__ = ["InvalidModelError"]
