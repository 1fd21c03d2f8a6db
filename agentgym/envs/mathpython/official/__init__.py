"""Published sets of problems: GSM8K, MATH, AIME, and others with the same fields."""
