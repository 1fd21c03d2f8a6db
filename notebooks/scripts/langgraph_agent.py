# /// script
# requires-python = ">=3.10"
# dependencies = ["langchain>=1", "langchain-openai>=1"]
# ///
"""Evaluate an agent of LangGraph: it owns the loop, the session keeps the score.

python langgraph_agent.py --base-url http://localhost:8000/v1 --model NAME --num-tasks 20
"""

import argparse
from contextlib import suppress

from langchain.agents import create_agent
from langchain_core.callbacks import BaseCallbackHandler
from langchain_openai import ChatOpenAI
from langgraph.errors import GraphRecursionError

import agentgym

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--base-url", required=True)
parser.add_argument("--model", required=True)
parser.add_argument("--env", default="webshop")
parser.add_argument("--num-tasks", type=int, default=20)
parser.add_argument("--out", default=None, help="keep the episodes here, and resume")


class Tell(BaseCallbackHandler):
    """Tell the session about tokens, so that the report has them and limits act."""

    raise_error = True  # else LangChain keeps errors to itself

    def __init__(self, session, model):
        self.session, self.model = session, model

    def on_llm_end(self, response, **_):
        self.session.annotate(response.generations[0][0].message, model=self.model)


def main(argv=None):
    options = parser.parse_args(argv)

    def agent(session):
        model = ChatOpenAI(model=options.model, base_url=options.base_url, api_key="none")
        graph = create_agent(model, session.tools)
        callbacks = {"callbacks": [Tell(session, options.model)]}
        # Whoever makes no turns any more counts as they stand.
        with suppress(GraphRecursionError):
            messages = {"messages": [("user", session.instruction)]}
            graph.invoke(messages, {"recursion_limit": 3 * session.horizon, **callbacks})

    agent.facts = lambda: {"framework": "langgraph", "model": options.model}
    report = agentgym.evaluate(agent, options.env, num_tasks=options.num_tasks, out=options.out)
    print(report.markdown())
    return report


if __name__ == "__main__":
    main()
