"""The environment my_env of agentgym; every command imports this module, so keep it small."""

from agentgym.registration import EnvFamily

FAMILY = EnvFamily(
    name="my_env",
    id="my_env/MyEnv-v0",
    entry_point="my_env.env:MyEnv",
    summary="Guess a number; every answer narrows the range.",
)
