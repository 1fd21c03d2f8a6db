"""Language models behind any OpenAI-compatible endpoint (OpenAI, vLLM, llama.cpp, Ollama, ...).

The client of the suite: settings (`config`), requests and retries (`endpoint`), responses
(`completions`), errors (`faults`), and questions that are asked once (`cached_endpoint`).
"""
