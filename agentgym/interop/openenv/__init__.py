"""OpenEnv: its environments here (`imported`), and ours as a server or a folder to build one."""
