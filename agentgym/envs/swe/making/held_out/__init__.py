"""Make held-out questions: `variation` varies inputs, `building` asks for answers and keeps them.

`variants` is the script that answers in a box.
"""
