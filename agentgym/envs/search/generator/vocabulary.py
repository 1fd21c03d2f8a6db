"""The real words of the encyclopaedia: values of relations, fillers, and words of titles."""

from __future__ import annotations


def _listed(text: str) -> tuple[str, ...]:
    return tuple(text.split())


WORDS: dict[str, tuple[str, ...]] = {
    "occupation": (
        "botanist", "cartographer", "novelist", "engineer", "physician", "violinist", "architect",
        "historian", "chemist", "jurist", "sculptor", "navigator", "economist", "astronomer",
        "clockmaker", "linguist", "geologist", "composer", "printer", "surveyor",
    ),
    "product": (
        "glassware", "optical lenses", "river barges", "printing type", "woollen cloth", "pumps",
        "tea", "ceramic tiles", "clocks", "paper", "salt", "bicycles", "cider", "candles", "rope",
        "saddles", "copper wire", "honey", "umbrellas", "musical boxes",
    ),
    "genre": (
        "novel", "memoir", "verse drama", "travelogue", "detective story", "chronicle",
        "collection of essays", "ghost story", "family saga", "epic poem",
    ),
    "hobby": (
        "falconry", "beekeeping", "fencing", "kite building", "chess", "choral singing",
        "mountain walking", "woodcarving", "stamp collecting", "rowing", "pottery", "star gazing",
    ),
    "subject": (
        "law", "medicine", "music", "surveying", "botany", "history", "optics", "navigation",
        "geometry", "rhetoric", "metallurgy", "agriculture",
    ),
    "stone": ("granite", "brick", "sandstone", "iron", "marble", "limestone", "slate", "oak"),
    "season": ("spring", "summer", "autumn", "winter"),
}  # fmt: skip
"""Words by what they fill: values of relations that lead to words, and ``{some thing}`` slots."""

ADJECTIVES: tuple[str, ...] = _listed(
    "Amber Silent Northern Broken Gilded Hollow Crimson Distant Burning Winter Patient Salted Iron "
    "Painted Last Second Blind Wandering Velvet Drowned Ancient Bitter Blue Borrowed Brass Bright "
    "Buried Careless Cedar Clever Cold Copper Crooked Dark Early Eastern Empty Endless Faded "
    "Faithful False Familiar Folded Forgotten Fragile Frozen Gentle Glass Golden Grand Green Grey "
    "Hidden Humble Idle Inner Ivory Jagged Late Leaden Little Lonely Long Lost Lucky Marble "
    "Midnight Modest Narrow Nameless Noble Old Open Outer Pale Paper Private Proud Quiet Rapid Red "
    "Restless Royal Rusty Sacred Scarlet Secret Seventh Shallow Silver Sleeping Slow Solemn "
    "Southern Stolen Stone Stormy Strange Sudden Summer Tender Thirsty Tidal Twin Unseen Upper "
    "Vacant Violet Western White Wild Wooden Yellow Young"
)
NOUNS: tuple[str, ...] = _listed(
    "Ledger Orchard Lantern Harbour Compass Tide Archive Bridge Garden Mirror Letter Staircase "
    "Season Mill Clock Meadow Cathedral Sparrow Island Key Almanac Anchor Anvil Arch Arrow Attic "
    "Balcony Ballad Basket Beacon Bell Bench Border Bottle Bracelet Bread Candle Canal Carriage "
    "Castle Cellar Chapel Chimney Circus Cloud Coast Comet Corridor Cottage Crane Crown Curtain "
    "Dancer Desert Dial Diary Door Drum Eagle Echo Engine Envelope Ferry Field Flute Fountain "
    "Frontier Furnace Gallery Gate Glove Grove Guest Hammer Heron Horizon Hotel Hour Inn Journey "
    "Judge Kettle Kingdom Ladder Lake Lark Library Lighthouse Loom Map Mask Merchant Monument "
    "Needle Oath Ocean Palace Parade Passage Pearl Pilgrim Pillar Portrait Promise Quarry Raven "
    "Ribbon River Road Saddle Shadow Shore Signal Spindle Statue Stranger Swallow Tailor Tavern "
    "Theatre Thread Tower Train Valley Vault Verdict Village Violin Voyage Watchman Well Wheel "
    "Window Witness Wren"
)
"""Words from which titles of books are put together."""
