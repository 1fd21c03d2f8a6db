"""Minecraft's recipe files, which the published TextCraft reads."""
