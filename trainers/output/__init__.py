"""What a run leaves behind and shows: its folder, records, report and progress."""
