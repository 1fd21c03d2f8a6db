"""One small game behind the interfaces of several projects: what each costs, side by side."""
