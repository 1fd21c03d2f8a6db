"""Cells and areas: how they are written and what can be computed with them."""
