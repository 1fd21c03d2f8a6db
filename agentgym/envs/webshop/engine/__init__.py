"""The shop as an engine: products and their index, pages, clicks, the reward."""
