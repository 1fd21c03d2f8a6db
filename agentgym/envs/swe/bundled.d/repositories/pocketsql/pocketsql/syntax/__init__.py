"""Tokens, the tree of a statement, its parser, and expressions as text."""
