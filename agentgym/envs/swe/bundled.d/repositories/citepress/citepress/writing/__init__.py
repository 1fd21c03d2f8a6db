"""Text, HTML, Markdown, and BibTeX again."""
