"""Published sets of problems: GSM8K, MATH, AIME, and whatever has their fields."""
