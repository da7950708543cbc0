"""What a person sees: text, figures, result folders.

Rule: nothing is computed here that ``metrics`` or ``planning`` could compute.
"""
