"""The original engine, kept to be compared with; alfworld and textworld are imported on use."""
