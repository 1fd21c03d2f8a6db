"""What the house needs and no reader first: files, locks, JSON, HTTP, statistics, the terminal."""
