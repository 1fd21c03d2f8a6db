"""Goals of generated products, and the wording of their instructions."""

from __future__ import annotations

from typing import Any

from agentgym.envs.webshop.engine.goals import ShopGoal
from agentgym.envs.webshop.generator.config import GeneratorConfig
from agentgym.envs.webshop.generator.drafts import GENERATOR_VERSION, ProductDraft
from agentgym.envs.webshop.generator.vocabulary import VOCABULARIES, Attribute
from agentgym.support.random_stream import Stream

_PLAIN = (
    "find {row} {type}{is hidden}{comma options}",
    "need {type} , {list}{must hidden}{with options}",
    "{options first}buy {type} , {list back}{comma hidden}",
    "want {hidden first}{first} {type}{comma rest}{comma options}",
)
_FULL = (
    "i am looking for {type}, {attributes}{options}{price}",
    "please find {attributes} {type}{options}{price}",
    "i would like {type}: {attributes}{options}{price}",
    "show me {type} for a friend, {attributes}{options}{price}",
    "we ran out of {type}; get some that match: {attributes}{options}{price}",
    "searching for {attributes} {type}{options}{price}",
    "can you get me {type}? wanted: {attributes}{options}{price}",
    "my old {type} wore out, so buy new ones, {attributes}{options}{price}",
)
_OPTION = ("{name} {value}", "{name}: {value}", "{name} should be {value}", "{value} as {name}")
_PRICE = (
    ", under {price} dollars",
    ", for less than ${price}",
    ", and price lower than {price} dollars",
    ", my limit is ${price}",
    ", not above {price} dollars",
)


def make_goal(
    draft: ProductDraft, item: dict[str, Any], k: int, config: GeneratorConfig, seed: int
) -> ShopGoal:
    """Make goal ``k`` of a product; only this product is certain to satisfy it.

    The draws depend on the shop's seed, product and ``k`` only, so a goal does not depend on the
    size of the shop or the number of goals per product.
    """
    stream = Stream(GENERATOR_VERSION, config.name, seed, "goal", draft.index, k)
    visible = [a for a in draft.visible if stream.percent(config.visible_asked)]
    visible = stream.shuffled(visible or draft.visible[:1])
    hidden = [a for a in draft.hidden if stream.percent(config.hidden_asked)]
    options = tuple(
        (name, stream.choice(values))
        for name, values in draft.options
        if stream.percent(config.option_asked)
    )
    price = (draft.cents // 1000 + 1) * 10 + 10 * stream.choice(config.slack)
    if VOCABULARIES[config.vocabulary].brands:
        text = _full_text(draft, visible + hidden, options, price, config, stream)
    else:
        text = _plain_text(draft.type.name, visible, hidden, options, price, stream)
    return ShopGoal(
        asin=item["asin"],
        name=item["name"],
        category=item["category"],
        query=item["query"],
        product_category=item["product_category"],
        instruction_text=text,
        # Canonical names, though the text may paraphrase them.
        attributes=tuple(a.name for a in visible + hidden),
        goal_options=dict(options),
        price_upper=float(price),
    )


def summary(draft: ProductDraft) -> str:
    """Return an instruction without options and price, for the official ``ins`` file."""
    return f"Find me {', '.join(a.name for a in draft.attributes)} {draft.type.name}"


def _plain_text(
    name: str,
    visible: list[Attribute],
    hidden: list[Attribute],
    options: tuple[tuple[str, str], ...],
    price: int,
    stream: Stream,
) -> str:
    """Say a goal in the closed vocabulary; each wanted word stands once."""
    option_list = " and ".join(f"{group} {value}" for group, value in stream.shuffled(options))
    features = " and ".join(a.name for a in hidden)
    names = [a.name for a in visible]
    slots = {
        "type": name,
        "row": " ".join(names),
        "list": " and ".join(names),
        "list back": " and ".join(reversed(names)),
        "first": names[0],
        "comma rest": "".join(f" , {word}" for word in names[1:]),
        "is hidden": features and f" that is {features}",
        "must hidden": features and f" , must be {features}",
        "comma hidden": features and f" , {features}",
        "hidden first": features and f"{features} ",
        "comma options": option_list and f" , {option_list}",
        "with options": option_list and f" , with {option_list}",
        "options first": option_list and f"with {option_list} , ",
    }
    return stream.choice(_PLAIN).format_map(slots) + f" , at most ${price}"


def _full_text(
    draft: ProductDraft,
    attributes: list[Attribute],
    options: tuple[tuple[str, str], ...],
    price: int,
    config: GeneratorConfig,
    stream: Stream,
) -> str:
    """Say a goal in free words, some of them paraphrased."""
    phrases = []
    for attribute in stream.shuffled(attributes):
        is_paraphrased = attribute.paraphrases and stream.percent(config.paraphrased)
        phrases.append(stream.choice(attribute.paraphrases) if is_paraphrased else attribute.name)
    name = draft.type.name
    if draft.type.paraphrases and stream.percent(config.type_paraphrased):
        name = stream.choice(draft.type.paraphrases)
    option_phrases = [
        stream.choice(_OPTION).format(name=group, value=value)
        for group, value in stream.shuffled(options)
    ]
    return stream.choice(_FULL).format(
        type=name,
        attributes=", ".join(phrases),
        options="".join(f", {text}" for text in option_phrases),
        price=stream.choice(_PRICE).format(price=price),
    )
