"""MCP: tools of servers as environments (`imported`), and ours as a server (`server`)."""
