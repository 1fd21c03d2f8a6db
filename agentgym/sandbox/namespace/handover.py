"""What :mod:`.forking` and :mod:`.fork_server` say to each other."""

READY = b"ready"
"""The server's first message."""
CONNECTION, OWNER, GROUP = "cog"
"""What the descriptors of a message are, one letter each: of the connection to the box, of the
process that owns it, and of the list of its cgroup's processes."""
USER = "u"
"""Letter of a message that asks for a user namespace too. After the letters may stand three
numbers: user and group of a tree, and the user whose its files shall be in the box."""
