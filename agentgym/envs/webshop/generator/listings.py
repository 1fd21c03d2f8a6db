"""Drafts as texts, in the official JSON schema."""

from __future__ import annotations

from typing import Any

from agentgym.envs.webshop.generator.config import GeneratorConfig
from agentgym.envs.webshop.generator.drafts import GENERATOR_VERSION, ProductDraft
from agentgym.envs.webshop.generator.vocabulary import VOCABULARIES
from agentgym.support.random_stream import Stream

LEVELS = " \u203a "
"""Separator of the levels of a category path."""

_LEAD_BULLETS = (
    "Made by {brand}, {use}.",
    "From the workshop of {brand}, {use}.",
    "One more {brand} product {use}.",
    "Sent in a plain box by {brand}.",
)
_FEATURE_BULLETS = (
    "{feature}: checked before it leaves our house.",
    "What you get: {feature}.",
    "{feature}, as our customers wish.",
    "Feature: {feature}.",
    "{feature} {use}.",
)
_OPENINGS = (
    "{brand} presents its {type}.",
    "These {type} come from the {brand} range.",
    "Our {type} {use}.",
    "New {type} by {brand}.",
)
_SENTENCES = ("They offer {feature}.", "Known for {feature}.", "Expect {feature}.")
_CLOSINGS = ("Made {use}.", "A good choice {use}.", "Ask us anything.", "Ships within two days.")


def listing(draft: ProductDraft, asin: str, config: GeneratorConfig, seed: int) -> dict[str, Any]:
    """Write one product, with exactly the fields of the official ``items_shuffle`` files."""
    if VOCABULARIES[config.vocabulary].brands:
        stream = Stream(GENERATOR_VERSION, config.name, seed, "text", draft.index)
        title, bullets, description = _full_texts(draft, config, stream)
    else:
        title, bullets, description = _plain_texts(draft)
    path = (draft.department.root, draft.type.aisle, draft.type.name.title())
    return {
        "asin": asin,
        "name": title,
        "full_description": description,
        "small_description": bullets,
        "pricing": price_text(draft.cents),
        "images": [f"/img/{asin}.svg"],
        "product_category": LEVELS.join(path),
        "category": draft.department.category,
        "query": draft.type.name,
        "customization_options": {
            name: [{"value": value, "image": None} for value in values]
            for name, values in draft.options
        },
        "average_rating": "",
        "page": 1,
    }


def price_text(cents: int) -> str:
    """Write a price as ``$45``, ``$45.5`` or ``$45.99``, exact to the cent."""
    dollars, cents_left = divmod(cents, 100)
    return f"${dollars}.{cents_left:02d}".rstrip("0").rstrip(".")


def _plain_texts(draft: ProductDraft) -> tuple[str, list[str], str]:
    """Write the bare texts of the tiny vocabulary: no word that does not matter."""
    name = draft.type.name
    title = " ".join([*(a.name for a in draft.visible), name])
    features = [a.name for a in draft.hidden]
    # Search sees the description and the first bullet only.
    return title, [name, *features] if draft.buried else features, name


def _full_texts(
    draft: ProductDraft, config: GeneratorConfig, stream: Stream
) -> tuple[str, list[str], str]:
    """Write title, bullets and description with noise words around the facts."""
    vocabulary = VOCABULARIES[config.vocabulary]
    brand, name = stream.choice(vocabulary.brands), draft.type.name
    title = _title(draft, config, stream, brand)

    def fill(template: str, feature: str = "") -> str:
        text = template.format(
            brand=brand, use=stream.choice(vocabulary.uses), type=name, feature=feature
        )
        return text[0].upper() + text[1:]

    features = [a.name for a in draft.hidden]
    in_description = 0 if draft.buried else stream.between(0, len(features))
    description = [fill(stream.choice(_OPENINGS))]
    description += [
        fill(stream.choice(_SENTENCES), feature) for feature in features[:in_description]
    ]
    description.append(fill(stream.choice(_CLOSINGS)))
    bullets = [
        fill(stream.choice(_FEATURE_BULLETS), feature) for feature in features[in_description:]
    ]
    if draft.buried or not bullets:
        bullets.insert(0, fill(stream.choice(_LEAD_BULLETS)))
    return title, bullets, " ".join(description)


def _title(draft: ProductDraft, config: GeneratorConfig, stream: Stream, brand: str) -> str:
    """Write a title: brand, type and visible attributes among noise words."""
    vocabulary = VOCABULARIES[config.vocabulary]
    noise = stream.sample(vocabulary.noise, stream.between(*config.noise))
    cut = stream.between(0, len(noise))
    features = ", ".join(a.name.title() for a in draft.visible)
    name = draft.type.name.title()
    head = " ".join([brand, *noise[:cut]])
    tail = "".join(f" {word}" for word in noise[cut:])
    if stream.percent(50):
        text = f"{head} {name} with {features}{tail}"
    else:
        text = f"{head} {features} {name}{tail}"
    if stream.percent(40):
        text += f" {stream.choice(vocabulary.uses).title()}"
    return text
