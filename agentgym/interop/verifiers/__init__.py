"""verifiers: its tasksets here (`imported`), and our environments as a taskset (`exported`)."""
