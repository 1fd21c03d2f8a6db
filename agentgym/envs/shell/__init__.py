"""Shell: answer questions about files, and change them, by commands in a box."""
