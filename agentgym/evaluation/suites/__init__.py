"""Named evaluations: their settings, suites of several, their files and folders."""
