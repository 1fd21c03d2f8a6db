"""A reward model that learns preferences between episodes and pays turns."""
