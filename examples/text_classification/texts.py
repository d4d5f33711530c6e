"""Texts with a class each, from a file or invented.

A file has a text on each line: its class, a tab, the text.
"""
import random

import numpy as np

_TOPICS = {
    'weather': 'rain snow wind clouds sun storm fog warm cold dry'.split(),
    'food': 'bread soup cheese salt apple rice sweet fresh hot baked'.split(),
    'sport': 'ball team goal race match player fast strong tired ready'.split(),
    'music': 'song piano choir drum tune singer loud soft slow famous'.split(),
}
_OTHERS = 'the a in of and was is very with we they today never some more'.split()


def make_texts(n, seed=0):
    """Return invented texts: lists of words, some of which tell the topic, and their classes."""
    rng = random.Random(seed)
    data = []
    for _ in range(n):
        topic = rng.choice(list(_TOPICS))
        other = rng.choice(list(_TOPICS))
        words = [rng.choice(_OTHERS) for _ in range(rng.randint(4, 8))]
        words += [rng.choice(_TOPICS[topic]) for _ in range(2)] + [rng.choice(_TOPICS[other])]
        rng.shuffle(words)
        data.append((words, topic))
    return data


def read_texts(path):
    with open(path, encoding='utf-8') as file:
        pairs = [line.rstrip('\n').split('\t', 1) for line in file if line.strip()]
    return [(split(text), label) for label, text in pairs]


def split(text):
    """Return the words of a text, in small letters."""
    return text.lower().split()


def make_vocabulary(texts, max_size=20000, min_frequency=2):
    """Return the numbers of the most frequent words; 0 is the end of a text, 1 any other word."""
    counts = {}
    for words in texts:
        for word in words:
            counts[word] = counts.get(word, 0) + 1
    frequent = sorted((-count, word) for word, count in counts.items() if count >= min_frequency)
    return {word: i + 2 for i, (_, word) in enumerate(frequent[:max_size])}


def to_array(words, vocabulary):
    return np.array([vocabulary.get(word, 1) for word in words] + [0], np.int32)
