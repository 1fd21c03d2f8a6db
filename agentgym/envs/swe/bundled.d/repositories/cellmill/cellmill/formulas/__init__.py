"""From a text to a tree, from a tree to a text, and trees whose references moved."""
