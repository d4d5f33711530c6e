"""Write an invented table of mushrooms, in the form that glance.py reads.

The 22 properties are random letters; whether a mushroom is poisonous follows from five of them by
a rule with few exceptions, so that there is something to learn and something to get wrong.
"""
import argparse

import numpy as np

COLUMNS = [
    'cap-shape', 'cap-surface', 'cap-color', 'bruises', 'odor', 'gill-attachment', 'gill-spacing',
    'gill-size', 'gill-color', 'stalk-shape', 'stalk-root', 'stalk-surface-above-ring',
    'stalk-surface-below-ring', 'stalk-color-above-ring', 'stalk-color-below-ring', 'veil-type',
    'veil-color', 'ring-number', 'ring-type', 'spore-print-color', 'population', 'habitat']


def make_table(n, seed=0):
    """Return lines of CSV: a header and n mushrooms."""
    rng = np.random.default_rng(seed)
    n_letters = rng.integers(2, 10, len(COLUMNS))
    values = rng.integers(0, n_letters, (n, len(COLUMNS)))
    weights = np.zeros(len(COLUMNS))
    weights[rng.permutation(len(COLUMNS))[:5]] = rng.uniform(0.5, 1, 5)
    score = ((values - (n_letters - 1) / 2) / n_letters) @ weights
    poisonous = score + rng.normal(0, 0.02, n) > 0
    lines = ['class,' + ','.join(COLUMNS)]
    for is_poisonous, row in zip(poisonous, values, strict=True):
        lines.append(','.join(['p' if is_poisonous else 'e', *[chr(ord('a') + v) for v in row]]))
    return lines


def write(n, path):
    with open(path, 'w') as file:
        file.write('\n'.join(make_table(n)) + '\n')
    print(f'{n} invented mushrooms written to {path}')


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--number', type=int, default=8000, help='how many mushrooms')
    parser.add_argument('--out', default='mushrooms.csv', help='the file')
    args = parser.parse_args()
    write(args.number, args.out)


if __name__ == '__main__':
    main()
