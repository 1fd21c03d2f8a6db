"""Language models behind any OpenAI-compatible endpoint (OpenAI, vLLM, llama.cpp, Ollama, ...).

The one client of the suite: what it may be told (`config`), what it sends and tries again
(`endpoint`), what it reads (`completions`) and what can be wrong with it (`faults`).
"""
