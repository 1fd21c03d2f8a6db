"""What a cell can hold, conversions, comparison, number formats."""
