"""The output of a run: its folder, records, report, model card and progress display."""
