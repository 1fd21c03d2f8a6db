"""The words of ``medium`` and ``hard``: five departments, brands and noise; all invented here."""

from __future__ import annotations

from agentgym.envs.webshop.generator.vocabulary.schema import (
    Department,
    OptionGroup,
    ProductType,
    ShopVocabulary,
    attributes,
    words,
)

COLOR = OptionGroup(
    "color",
    words(
        "black, charcoal, white, ivory, navy, royal blue, teal, turquoise, olive, forest green,"
        "burgundy, wine, coral, peach, lavender, lilac, silver, gold, beige, taupe"
    ),
    alike=(
        ("black", "charcoal"),
        ("white", "ivory"),
        ("navy", "royal blue"),
        ("teal", "turquoise"),
        ("olive", "forest green"),
        ("burgundy", "wine"),
        ("coral", "peach"),
        ("lavender", "lilac"),
        ("silver", "gold"),
        ("beige", "taupe"),
    ),
)
GARMENT_SIZE = OptionGroup(
    "size",
    words("extra small, petite, medium, tall, broad, oversize"),
    alike=(("extra small", "petite"), ("tall", "broad", "oversize")),
)
SHOE_SIZE = OptionGroup("size", words("6, 7, 8, 9, 10, 11, 12"), alike=(("6", "7"), ("9", "10")))
FIT = OptionGroup("fit type", words("regular, athletic, generous"))
STYLE = OptionGroup(
    "style",
    words("plain, striped, floral, gingham, dotted, quilted"),
    alike=(("striped", "gingham"), ("floral", "dotted")),
)
DESIGN = OptionGroup(
    "style",
    words("modern, cottage, industrial, coastal, farmhouse, nordic"),
    alike=(("modern", "industrial"), ("cottage", "farmhouse")),
)
SCENT = OptionGroup(
    "scent",
    words("unscented, citrus, patchouli, eucalyptus, vanilla, thyme, cedar, jasmine"),
    alike=(("patchouli", "cedar"), ("eucalyptus", "thyme")),
)
VOLUME = OptionGroup(
    "size",
    words("30 ml, 50 ml, 100 ml, 200 ml, 400 ml"),
    alike=(("30 ml", "50 ml"), ("200 ml", "400 ml")),
)
COUNT = OptionGroup(
    "count",
    words("one piece, twin set, trio, half dozen, bulk carton"),
    alike=(("twin set", "trio"),),
)
LENGTH = OptionGroup(
    "length",
    words("three feet, six feet, ten feet, twenty feet"),
    alike=(("ten feet", "twenty feet"),),
)
CAPACITY = OptionGroup(
    "capacity", words("32 gb, 64 gb, 128 gb, 256 gb, 512 gb"), alike=(("128 gb", "256 gb"),)
)
EDITION = OptionGroup(
    "edition",
    words("starter, regular, advanced, studio, limited"),
    alike=(("starter", "regular"), ("advanced", "studio")),
)
FLAVOR = OptionGroup(
    "flavor name",
    words(
        "dark chocolate, peanut, lemon ginger, wild berry, sea salt, original, spicy tomato,"
        "cinnamon, mango, maple pecan"
    ),
    alike=(("dark chocolate", "maple pecan"), ("wild berry", "mango")),
)
WEIGHT = OptionGroup(
    "weight",
    words("quarter pound, half pound, single pound, double pound, five kilos"),
    alike=(("quarter pound", "half pound"),),
)
PANEL = OptionGroup(
    "panel size",
    words("square, runner, oval, doorway, banquet"),
    alike=(("square", "oval"),),
)


def _department(category: str, root: str, pool: str, *types: ProductType) -> Department:
    """Make a department whose attributes may stand in a title or outside it."""
    parsed = attributes(pool)
    return Department(category, root, types, parsed, parsed)


FASHION = _department(
    "fashion",
    "Apparel",
    """
moisture wicking: that keep sweat off the skin | which draw perspiration away
quick drying: that dry in no time | dry soon after washing
rubber trim: with grippy edges | finished with elastomer
arch support: kind to flat feet | good under the instep
button closure: that fasten with buttons | with a buttoned front
elastic waist: with a stretchy band | gentle around the belly
drawstring hem: with a cord at the bottom | that tie at the lower edge
reflective piping: seen by headlights | that shine back at night
zip pocket: with a place to lock keys in | with zippered storage
soft lining: plush inside | comfy on the inner side
wrinkle resistant: that need no ironing | crease proof
odor control: that stay fresh | that do not smell after sport
breathable mesh: airy and ventilated | that let air through
double stitched: with reinforced seams | sewn twice
recycled yarn: made from reused fibers | spun from old bottles
organic cotton: grown without pesticides | of natural untreated plants
tagless label: that do not itch at the neck | without scratchy tags
machine washable: fine in the washer | that survive laundry day
padded edge: cushioned along the border | with foam at the rim
fleece backing: warm on cold mornings | cozy in winter
stretch fabric: that give when you move | flexible cloth
wind blocking: that stop a stiff breeze | gale proof
sun protective: with uv shielding | against sunburn
stain repellent: that shrug off coffee | hard to soil
""",
    ProductType(
        "hiking boots", "Trail Footwear", (COLOR, SHOE_SIZE), (45, 160), ("trekking footwear",)
    ),
    ProductType(
        "running shoes", "Sport Footwear", (COLOR, SHOE_SIZE), (35, 140), ("jogging trainers",)
    ),
    ProductType(
        "cardigan sweaters", "Knitwear", (COLOR, GARMENT_SIZE), (18, 70), ("knitted jackets",)
    ),
    ProductType(
        "dress shirts", "Office Wear", (COLOR, GARMENT_SIZE, FIT), (15, 65), ("formal tops",)
    ),
    ProductType("rain coats", "Outerwear", (COLOR, GARMENT_SIZE), (20, 90), ("waterproof parkas",)),
    ProductType(
        "yoga leggings", "Studio Wear", (COLOR, GARMENT_SIZE, STYLE), (12, 55), ("gym tights",)
    ),
    ProductType("wool socks", "Hosiery", (COLOR, SHOE_SIZE), (8, 30), ("thick stockings",)),
    ProductType("canvas totes", "Carriers", (COLOR, STYLE), (12, 48), ("shopper bags",)),
)
BEAUTY = _department(
    "beauty",
    "Personal Care",
    """
cruelty free: never tried on animals | kind to rabbits
paraben free: without synthetic preservatives | no nasty preserving agents
sulfate free: that barely foam | without harsh detergents
long lasting: that hold all day | good from dawn to dusk
sensitive skin: mild enough for easily irritated people | for those who redden quickly
tea tree: with melaleuca | with that antiseptic leaf
argan oil: with moroccan nut extract | with goat tree kernels
shea butter: with african nut fat | rich and buttery
vitamin c: with ascorbic acid | brightening
hyaluronic acid: that bind water in the face | plumping
aloe vera: with soothing succulent gel | with desert plant juice
travel size: fit for cabin luggage | that pass airport checks
leak proof: that never spill in a purse | tightly closing
vegan formula: with nothing from animals | purely from plants
fine mist: with a gentle spray | that come out as a cloud
anti aging: against wrinkles | that keep one young
dark circles: for tired eyes | against shadows below the lids
damaged hair: for brittle strands | after too much bleaching
dry scalp: against flakes | when the head itches
green clay: with mineral earth | with volcanic mud
refillable jar: with a container to use again | zero waste
dermatologist tested: approved by doctors | checked in a clinic
oil control: that leave no shine | mattifying
rose hip: with wild bush fruit | with dog rose seed
""",
    ProductType("facial serums", "Face Care", (SCENT, VOLUME), (9, 60), ("drops for the face",)),
    ProductType("shampoos", "Hair Wash", (SCENT, COUNT), (6, 30), ("hair soap",)),
    ProductType(
        "brush sets", "Makeup Tools", (COLOR, STYLE, COUNT), (8, 45), ("makeup applicators",)
    ),
    ProductType("lip balms", "Lip Care", (SCENT, COUNT), (4, 22), ("chapsticks",)),
    ProductType("beard oils", "Shaving", (SCENT, VOLUME), (8, 35), ("whisker conditioner",)),
    ProductType("nail dryers", "Manicure", (COLOR, STYLE), (15, 70), ("gel polish ovens",)),
    ProductType("body lotions", "Body Care", (SCENT, VOLUME), (6, 34), ("skin moisturizer",)),
    ProductType("bath salts", "Bathing", (SCENT, COUNT), (7, 32), ("soaking crystals",)),
)
ELECTRONICS = _department(
    "electronics",
    "Electronics",
    """
fast charging: full again within the hour | that power up rapidly
noise cancelling: that mute the office | for silence on planes
wireless pairing: without any cords | that connect through the air
high resolution: sharp to the last pixel | crisp
gold plated: with contacts that never rust | with precious connectors
hands free: that leave both arms idle | to be used while driving
extended battery: that run for days | with plenty of stamina
water resistant: fine in a drizzle | that survive splashes
dust proof: for the workshop | closed against sand
tempered glass: with a hardened pane | scratch proof in front
carrying pouch: with a bag to take along | that come in a sleeve
quad core: with four processors | with a strong chip
dual band: on both frequencies | on two radio channels
stereo sound: with left and right channel | spatial to the ear
wall mounted: to be hung up | that save desk room
aluminum shell: in light metal | with a metallic body
motion detection: that notice movement | that wake when someone passes
voice assistant: that listen to commands | to be talked to
parental lock: safe for kids | which children cannot change
memory slot: with room for a card | with expandable storage
magnetic mount: that snap onto steel | held by magnets
braided cord: with textile around the wire | with woven leads
night vision: that see in the dark | with infrared
solar powered: fed by daylight | off the grid
""",
    ProductType(
        "bluetooth speakers", "Portable Audio", (COLOR, EDITION), (18, 180), ("boom boxes",)
    ),
    ProductType(
        "hdmi cables", "Video Leads", (LENGTH, COLOR), (6, 40), ("monitor connection leads",)
    ),
    ProductType(
        "security cameras", "Surveillance", (COLOR, EDITION), (25, 220), ("burglar watchers",)
    ),
    ProductType("phone cases", "Phone Gear", (COLOR, EDITION), (7, 38), ("smartphone covers",)),
    ProductType("tablet stands", "Desk Gear", (COLOR, EDITION), (10, 55), ("easel for an ipad",)),
    ProductType("usb hubs", "Port Gear", (LENGTH, EDITION), (9, 65), ("port multipliers",)),
    ProductType("headphones", "Head Audio", (COLOR, EDITION), (20, 260), ("ear cups",)),
    ProductType("flash drives", "Storage", (CAPACITY, COLOR), (6, 80), ("pocket memory sticks",)),
)
HOME = _department(
    "garden",
    "Home",
    """
easy assembly: put together in minutes | that need no tools
solid wood: of real timber | no veneer
space saving: for tiny flats | that take little room
stainless steel: that never rust | in brushed inox
memory foam: that adapt to the body | slowly rebounding
faux leather: that look like hide | with vegan upholstery
storage drawer: with a place for odds and ends | to keep things in
mid century: as in the fifties | retro
height adjustable: to be raised and lowered | for short and tall people
spot clean: to be wiped with a cloth | simple to care for
anti slip: that stay where they are | which do not slide
walnut finish: in a dark nutty tone | brown like nuts
bronze accents: with antique metal details | with coppery bits
weather proof: to be left outdoors | for the terrace
hand woven: made on a loom | plaited by craftsmen
noise dampening: that make a room quieter | that swallow echo
child safe: without sharp corners | good near toddlers
pet friendly: that cats leave alone | for dog owners
foldable frame: to be stowed flat | collapsible
cable outlet: with a hole for wires | for plugging things in
dimmable glow: with adjustable brightness | for moody evenings
blackout backing: that keep the sun out | for late sleepers
reversible sides: to be turned over | good on either face
fire retardant: that do not burn | safe near candles
""",
    ProductType("accent chairs", "Seating", (COLOR, DESIGN), (70, 420), ("lounge armchairs",)),
    ProductType("bookshelves", "Shelving", (COLOR, DESIGN), (45, 300), ("library racks",)),
    ProductType("table lamps", "Lighting", (COLOR, DESIGN), (18, 140), ("bedside lights",)),
    ProductType("area rugs", "Flooring", (COLOR, PANEL), (25, 380), ("floor carpets",)),
    ProductType("window curtains", "Windows", (COLOR, PANEL, DESIGN), (14, 90), ("drapes",)),
    ProductType("bar stools", "High Seating", (COLOR, COUNT), (50, 320), ("counter seats",)),
    ProductType("throw pillows", "Bedding", (COLOR, COUNT), (9, 48), ("sofa cushions",)),
    ProductType("plant pots", "Planters", (COLOR, COUNT, DESIGN), (8, 60), ("flower tubs",)),
)
GROCERY = _department(
    "grocery",
    "Food",
    """
gluten free: fine for celiacs | without wheat
non gmo: from unmodified seeds | without gene technology
dairy free: without milk | for the lactose intolerant
soy free: without tofu beans | no soja
plant based: without meat or eggs | purely from crops
low sodium: with little salt | for high blood pressure
keto friendly: with hardly any carbs | for a ketogenic diet
certified organic: with an eco seal | from inspected farms
nut free: safe without almonds | made apart from hazels
high protein: for building muscles | good after training
natural dyes: colored by beet and turmeric | no painted food
individually wrapped: each in its own foil | in single portions
resealable bag: to be closed again | that stay fresh after opening
stone ground: milled the old way | from a slow mill
real fruit: with berries one can see | from the orchard
kosher approved: blessed by a rabbi | fit for jewish kitchens
shelf stable: that keep for years | for the emergency cupboard
caffeine free: that let you sleep | good in the evening
simple ingredients: with a short list of contents | five things inside
fair trade: that pay farmers well | ethically bought
slow roasted: browned with patience | long in the oven
small batch: made a few at a time | from a tiny kitchen
added fiber: good for digestion | with roughage
sugar reduced: not so sweet | for diabetics
""",
    ProductType("protein bars", "Bars", (FLAVOR, COUNT), (8, 45), ("fitness snacks",)),
    ProductType("herbal teas", "Tea", (FLAVOR, WEIGHT), (5, 30), ("infusions to brew",)),
    ProductType("pasta sauces", "Sauces", (FLAVOR, COUNT), (4, 28), ("noodle toppings",)),
    ProductType("trail mixes", "Nuts", (FLAVOR, WEIGHT), (6, 38), ("hiker nibbles",)),
    ProductType("ground coffees", "Coffee", (FLAVOR, WEIGHT), (8, 48), ("espresso powder",)),
    ProductType("granola cereals", "Breakfast", (FLAVOR, WEIGHT), (5, 36), ("muesli",)),
    ProductType("rice crackers", "Crackers", (FLAVOR, COUNT), (4, 26), ("crispy wafers",)),
    ProductType("fruit jams", "Spreads", (FLAVOR, WEIGHT), (5, 28), ("marmalades",)),
)
BRANDS = words(
    "Velomar, Karimsan, Nordaven, Zanorly, Lypotem, Quatrifield, Venholbrook, Marsanor, Tembrooka,"
    "Fizanlo, Surdelwick, Mobritone, Havenpell, Ostramil, Pellagrin, Rovanta, Sylbrook, Tavernik,"
    "Umbralis, Wexcombe, Yorvella, Zephrane, Aldermuth, Brixano, Corvessa, Dunmarlo, Eskadine,"
    "Farrowen, Gildrake, Hollvane, Isenmoor, Jorvaska, Kestrano, Lindquell, Mirevant, Nestorly"
)
NOISE = words(
    "Premium, Everyday, Essential, Signature, Original, Ultimate, Trusted, Favorite, Improved,"
    "Popular, Superior, Genuine, Select, Newest"
)
USES = words(
    "for daily use, for the weekend, for gifting, for beginners, for busy days, for families,"
    "for home and away, for all seasons, for small budgets, for long days"
)

FULL = ShopVocabulary("full", (FASHION, BEAUTY, ELECTRONICS, HOME, GROCERY), BRANDS, NOISE, USES)
