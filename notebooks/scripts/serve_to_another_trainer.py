"""Serve an environment over HTTP, and collect episodes as another trainer would: with urllib.

    agentgym serve http webshop --port 8002              # on the machine with the environment
    python serve_to_another_trainer.py --url http://127.0.0.1:8002 --token TOKEN

Without --url it starts a server of its own. TRL, SkyRL, verl-agent and verifiers need no server:
see agentgym/interop/exports.md.
"""

import argparse
import json
import random
import subprocess
import sys
from contextlib import contextmanager
from urllib.request import Request, urlopen

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--url", default="")
parser.add_argument("--token", default="")
parser.add_argument("--env", default="webshop")
parser.add_argument("--episodes", type=int, default=3)


@contextmanager
def served(name):
    """Start a server and yield its address and token."""
    command = [sys.executable, "-m", "agentgym", "serve", "http", name, "--port", "0"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command, **pipes) as server:
        try:
            line = next(output for output in server.stdout if " is at http" in output)
            address, _, token = line.partition(" is at ")[2].partition("; token: ")
            yield address, token.strip()
        finally:
            server.terminate()


def collect(url, token, episodes):
    """Play with random actions; return the episodes as lists of (action, reward)."""

    def ask(path, **body):
        data = None if body.pop("get", False) else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        return json.load(urlopen(Request(url + path, data, headers)))

    choice, number, records = random.Random(0), ask("/createEnv")["env_idx"], []
    for index in range(episodes):
        ask("/reset", env_idx=number, split="train", data_idx=index)
        episode, done = [], False
        while not done:
            offered = ask(f"/available_actions?env_idx={number}", get=True)
            action = choice.choice(offered["available_actions"])
            answer = ask("/step", env_idx=number, action=action)
            episode.append((action, answer["reward"]))
            done = answer["done"]
        records.append(episode)
    return records


def main(argv=None):
    options = parser.parse_args(argv)
    if options.url:
        episodes = collect(options.url, options.token, options.episodes)
    else:
        with served(options.env) as (url, token):
            episodes = collect(url, token, options.episodes)
    for episode in episodes:
        print(f"{len(episode)} turns, return {sum(reward for _, reward in episode):.2f}")
    return episodes


if __name__ == "__main__":
    main()
