"""Evaluations as people name them: the settings of one, suites of many, their files and folders."""
