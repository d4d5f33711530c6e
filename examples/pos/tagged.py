"""Sentences in which the part of speech of each word is given.

A file has a sentence on each line, with words like ``saw/VERB``.
"""
import random

_WORDS = {
    'DET': 'the a this every'.split(),
    'ADJ': 'old young light cold open clean'.split(),
    'NOUN': 'dog man fish light cold saw walk clean can'.split(),
    'VERB': 'fish light saw walk open clean can sees'.split(),
    'PRON': 'she he somebody'.split(),
    'PREP': 'in under near'.split(),
    'AUX': 'can will must'.split(),
}
_NP = ('PRON', 'DET NOUN', 'DET ADJ NOUN', 'DET ADJ ADJ NOUN')
_VP = ('VERB', 'AUX VERB', 'VERB NP', 'AUX VERB NP', 'VERB PREP NP')


def make_sentences(n, seed=0):
    """Return invented sentences, lists of pairs of a word and its tag.

    Many words can be more than one thing ("the old can light the light"): it is the neighbours
    that tell.
    """
    rng = random.Random(seed)
    sentences = []
    for _ in range(n):
        tags = f'{rng.choice(_NP)} {rng.choice(_VP)}'.replace('NP', rng.choice(_NP))
        sentences.append([(rng.choice(_WORDS[tag]), tag) for tag in tags.split()])
    return sentences


def read_sentences(path):
    with open(path, encoding='utf-8') as file:
        lines = [line.split() for line in file]
    return [[tuple(item.rsplit('/', 1)) for item in line] for line in lines if line]
