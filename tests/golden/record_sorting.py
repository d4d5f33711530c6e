"""Records in which order the original takes sequences of given lengths.

    tests/golden/original tests/golden/record_sorting.py
"""
import json
import os
import random


def cases():
    """Lists of lengths, the same under every Python."""
    draws = random.Random(0)
    for n in [0, 1, 2, 5, *range(14, 40), 64, 100, 128, 333]:
        for longest in (1, 2, 3, 10, 1000):
            yield [1 + int(draws.random() * longest) for _ in range(n)]
        yield list(range(n))
        yield list(range(n, 0, -1))


if __name__ == '__main__':
    from chainer.links.rnn.n_step_rnn import argsort_list_descent

    orders = [argsort_list_descent([range(n) for n in lengths]).tolist() for lengths in cases()]
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'sorting.json')
    with open(path, 'w') as file:
        json.dump(orders, file, separators=(',', ':'))
        file.write('\n')
