"""Mathematics with tools: a calculator, and Python in a sandbox."""
