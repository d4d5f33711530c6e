"""Invented sentences of a small grammar, for language models and word vectors.

    train, valid, test, words = get_words()

The animals, the people and the kinds of food can stand in the same places, so that a model of the
language finds out which words are alike.
"""
import numpy as np

_GRAMMAR = {
    'SENTENCE': ['WHO ACT <eos>'] * 4 + ['WHEN WHO ACT <eos>'],
    'WHEN': ['today', 'yesterday', 'every morning', 'in the evening'],
    'WHO': ['the ANIMAL', 'a QUALITY ANIMAL', 'the PERSON', 'a QUALITY PERSON'],
    'ACT': ['eats FOOD', 'wants FOOD', 'likes FOOD', 'sees WHO', 'follows WHO', 'MOVES PLACE'],
    'MOVES': ['runs', 'walks', 'sleeps', 'waits'],
    'PLACE': ['in the garden', 'behind the house', 'near the river'],
    'FOOD': ['bread', 'cheese', 'fish', 'soup', 'an apple', 'some rice'],
    'ANIMAL': ['dog', 'cat', 'horse', 'bird', 'mouse'],
    'PERSON': ['farmer', 'teacher', 'child', 'doctor', 'sailor'],
    'QUALITY': ['small', 'young', 'hungry', 'tired', 'clever'],
}


def _expand(symbol, rng):
    if symbol not in _GRAMMAR:
        return [symbol]
    choices = _GRAMMAR[symbol]
    return [word for part in choices[rng.randint(len(choices))].split()
            for word in _expand(part, rng)]


def get_words(n_train=6000, n_test=600, seed=0):
    """Return three texts, to train, to validate and to test, and the words.

    Returns:
        Three arrays of int32, each the numbers of the words of one long text, and a dictionary of
        the words' numbers. This is what :func:`chainer.datasets.get_ptb_words` and
        :func:`chainer.datasets.get_ptb_words_vocabulary` return for a text of the real world.
    """
    rng = np.random.RandomState(seed)
    text = []
    while len(text) < n_train + 2 * n_test:
        text.extend(_expand('SENTENCE', rng))
    words = {word: i for i, word in enumerate(sorted(set(text)))}
    numbers = np.array([words[word] for word in text], np.int32)
    return (numbers[:n_train], numbers[n_train:n_train + n_test],
            numbers[n_train + n_test:n_train + 2 * n_test], words)
