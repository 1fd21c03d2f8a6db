"""Corpora of one's own: files of passages, and long texts cut into passages."""
