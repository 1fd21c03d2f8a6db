"""Compare the cost of one small game behind the interfaces of several projects."""
