"""The expert: minigrid's bot."""
