"""Counting words."""


def count(text):
    counts = {}
    for word in text.lower().split():
        counts[word] = counts.get(word, 0) + 1
    return counts


def most(text):
    counts = count(text)
    return max(sorted(counts), key=counts.__getitem__, default=None)
