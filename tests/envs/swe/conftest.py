"""The small repositories are material of tests, and no tests themselves."""

collect_ignore = ["repositories"]
