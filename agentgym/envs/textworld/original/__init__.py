"""The original engine, kept to be compared with: story files, compiled and interpreted."""
