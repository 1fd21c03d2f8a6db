"""The parser of BibTeX, and LaTeX in fields."""
