"""The official data files, read and checked."""
