"""Reading mathematics that nobody has checked, and telling whether two answers are one."""
