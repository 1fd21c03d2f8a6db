"""From the command line to a plan in which every number is decided."""
