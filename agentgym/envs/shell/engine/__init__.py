"""One episode in a sandbox, and its judge."""
