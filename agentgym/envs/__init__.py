"""The environment families, one package each; Gymnasium ids are in :mod:`agentgym.registration`."""
