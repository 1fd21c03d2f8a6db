"""Language models behind any OpenAI-compatible endpoint (OpenAI, vLLM, llama.cpp, Ollama, ...).

The client of the suite: settings (`config`), requests and retries (`endpoint`), responses
(`completions`) and errors (`faults`).
"""
