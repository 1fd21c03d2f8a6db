"""Agents of frameworks, unmodified, at the session's model: at most five lines of glue each."""

from __future__ import annotations

from agentgym import Session


def smolagents(session: Session) -> None:
    from smolagents import OpenAIModel, ToolCallingAgent, tool

    model = OpenAIModel(session.model, api_base=session.base_url, api_key=session.api_key)
    player = ToolCallingAgent(
        [tool(function) for function in session.tools], model, verbosity_level=0
    )
    player.run(session.instruction, max_steps=session.horizon)


def langgraph(session: Session) -> None:
    from langchain.agents import create_agent
    from langchain_openai import ChatOpenAI

    model = ChatOpenAI(model=session.model, base_url=session.base_url, api_key=session.api_key)
    create_agent(model, session.tools).invoke({"messages": [("user", session.instruction)]})


async def openai_agents(session: Session) -> None:
    from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool
    from openai import AsyncOpenAI

    client = AsyncOpenAI(base_url=session.base_url, api_key=session.api_key)
    model = OpenAIChatCompletionsModel(session.model, client)
    player = Agent("player", model=model, tools=[function_tool(t) for t in session.async_tools])
    await Runner.run(player, session.instruction, max_turns=session.horizon)
