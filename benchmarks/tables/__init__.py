"""The tables of the pages, written into them from the result files by one command."""
