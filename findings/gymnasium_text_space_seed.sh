#!/usr/bin/env bash
# Package: gymnasium 1.3.0
# Behaviour: a seeded `Text` space with its default characters draws another text in every process,
#   because it keeps them in the order of a set, which PYTHONHASHSEED decides. 1.4.0 sorts them, so
#   that seeds are reproducible there, and mean other texts than in any process before.
# Seen: after seed(0), three processes of 1.3.0 draw three texts, three of 1.4.0 draw one; with
#   charset="abc...", whose order is given, all six draw the same.
# What to do: pass `charset` as a string whose order you choose, or require gymnasium>=1.4.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
draw() {
  for hash in 1 2 3; do
    PYTHONHASHSEED=$hash "$work/venv/bin/python" - "$1" <<'PYTHON'
import string
import sys

from gymnasium.spaces import Text

options = {"charset": string.ascii_lowercase} if sys.argv[1] == "chosen" else {}
space = Text(8, **options)
space.seed(0)
print(space.sample())
PYTHON
  done | sort -u
}
"$work/venv/bin/pip" install -q "gymnasium==1.3.0"
old=$(draw default) old_chosen=$(draw chosen)
"$work/venv/bin/pip" install -q "gymnasium==1.4.0"
new=$(draw default) new_chosen=$(draw chosen)
echo "1.3.0, default characters:" $old
echo "1.4.0, default characters:" $new
echo "both, chosen characters:" $old_chosen $new_chosen
[ "$(wc -l <<<"$old")" -eq 3 ] && [ "$(wc -l <<<"$new")" -eq 1 ]
[ "$(wc -l <<<"$old_chosen")" -eq 1 ] && [ "$old_chosen" = "$new_chosen" ]
