"""Trees of sentences with a label at each part, as the Stanford Sentiment Treebank writes them.

    (4 (2 a) (4 (3 very) (4 good)))

The labels go from 0 (very negative) to 4 (very positive).
"""
import random
import re

N_LABELS = 5


class Tree:
    """A part of a sentence: a word, or two parts.

    Attributes:
        label (int): How positive it is.
        word (str or int): The word (or its number) of a leaf.
        children (tuple): The two parts of a node; none for a leaf.
    """

    def __init__(self, label, word=None, children=()):
        self.label = label
        self.word = word
        self.children = children

    def __str__(self):
        inside = self.word if not self.children else ' '.join(map(str, self.children))
        return f'({self.label} {inside})'

    def leaves(self):
        if not self.children:
            return [self]
        return [leaf for child in self.children for leaf in child.leaves()]


def parse(line):
    """Return the tree that a line of text writes."""
    tokens = re.findall(r'[()]|[^\s()]+', line)
    position = 0

    def read():
        nonlocal position
        label = int(tokens[position + 1])
        position += 2
        if tokens[position] != '(':
            tree = Tree(label, word=tokens[position])
            position += 1
        else:
            tree = Tree(label, children=(read(), read()))
        position += 1  # the closing parenthesis
        return tree

    return read()


def read_trees(path):
    with open(path, encoding='utf-8') as file:
        return [parse(line) for line in file if line.strip()]


_WORDS = {
    4: 'wonderful brilliant', 3: 'good funny charming', 1: 'bad boring clumsy', 0: 'awful terrible',
}
_NOUNS = 'film story cast music end'.split()


def _join(label, left, right):
    return Tree(label, children=(left, right))


def _opinion(rng, depth):
    """Return a tree of a quality: a word, or one that "not", "very" or "and" changes."""
    kind = rng.choice(['word', 'word', 'not', 'very', 'and']) if depth else 'word'
    if kind == 'word':
        label = rng.choice(list(_WORDS))
        return Tree(label, word=rng.choice(_WORDS[label].split()))
    inner = _opinion(rng, depth - 1)
    if kind == 'not':
        return _join({4: 1, 3: 1, 2: 2, 1: 3, 0: 2}[inner.label], Tree(2, word='not'), inner)
    if kind == 'very':
        return _join({4: 4, 3: 4, 2: 2, 1: 0, 0: 0}[inner.label], Tree(2, word='very'), inner)
    other = _opinion(rng, depth - 1)
    rest = _join(other.label, Tree(2, word='and'), other)
    return _join((inner.label + other.label + 1) // 2, inner, rest)


def make_trees(n, seed=0):
    """Return invented judgements of films, the labels following from the words by simple rules."""
    rng = random.Random(seed)
    trees = []
    for _ in range(n):
        subject = _join(2, Tree(2, word='the'), Tree(2, word=rng.choice(_NOUNS)))
        opinion = _opinion(rng, 2)
        predicate = _join(opinion.label, Tree(2, word='is'), opinion)
        trees.append(_join(opinion.label, subject, predicate))
    return trees
