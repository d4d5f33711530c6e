"""Find words with similar vectors, among those that train_word2vec.py has learned.

    python search.py                               # asks for words
    python search.py --words dog bread
    python search.py --test                        # --words bread, after train_word2vec.py --test
"""
import argparse

import numpy as np


def load_vectors(path):
    """Return the words and their vectors, each of length 1."""
    with open(path, encoding='utf-8') as file:
        n, size = map(int, file.readline().split())
        words, vectors = [], np.empty((n, size), np.float32)
        for i, line in enumerate(file):
            word, *values = line.split()
            words.append(word)
            vectors[i] = [float(value) for value in values]
    return words, vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def search(word, words, vectors, n_results=5):
    """Return the most similar other words, with the cosine of the angle between the vectors."""
    i = words.index(word)
    similarity = vectors @ vectors[i]
    others = [j for j in similarity.argsort()[::-1] if j != i]
    return [(words[j], similarity[j]) for j in others[:n_results]]


def answer(query, words, vectors):
    if query not in words:
        return f'"{query}" is not among the words'
    lines = ['{}: {:.4f}'.format(*found) for found in search(query, words, vectors)]
    return '\n'.join(['query: ' + query] + lines)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--model', '-m', default='word2vec.model', help='file of the vectors')
    parser.add_argument('--words', nargs='*', help='words to look for, instead of asking for them')
    parser.add_argument('--test', action='store_true', help='look for one of the test\'s words')
    args = parser.parse_args(argv)
    if args.test and args.words is None:
        args.words = ['bread']
    words, vectors = load_vectors(args.model)
    if args.words is not None:
        for query in args.words:
            print(answer(query, words, vectors))
        return
    while True:
        try:
            print(answer(input('>> ').strip(), words, vectors))
        except EOFError:
            return


if __name__ == '__main__':
    main()
