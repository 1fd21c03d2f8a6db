# /// script
# requires-python = ">=3.10"
# dependencies = ["smolagents[openai]>=1.20"]
# ///
"""Evaluate an agent of smolagents: it owns the loop, the session keeps the score.

python smolagents_agent.py --base-url http://localhost:8000/v1 --model NAME --num-tasks 20
"""

import argparse

from smolagents import OpenAIModel, ToolCallingAgent, tool

import agentgym

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--base-url", required=True)
parser.add_argument("--model", required=True)
parser.add_argument("--env", default="webshop")
parser.add_argument("--num-tasks", type=int, default=20)
parser.add_argument("--out", default=None, help="keep the episodes here, and resume")


def main(argv=None):
    options = parser.parse_args(argv)

    def agent(session):
        class AnnotatingModel(OpenAIModel):
            """Tells the session about tokens, so that the report has them and limits act."""

            def generate(self, *args, **kwargs):
                answer = super().generate(*args, **kwargs)
                session.annotate(answer, model=self.model_id)
                return answer

        model = AnnotatingModel(options.model, api_base=options.base_url, api_key="none")
        player = ToolCallingAgent([tool(t) for t in session.tools], model, verbosity_level=0)
        player.run(session.instruction, max_steps=session.horizon)

    agent.facts = lambda: {"framework": "smolagents", "model": options.model}
    report = agentgym.evaluate(agent, options.env, num_tasks=options.num_tasks, out=options.out)
    print(report.markdown())
    return report


if __name__ == "__main__":
    main()
