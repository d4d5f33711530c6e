"""Write the mean of all pictures into a file, for train_imagenet.py.

The pictures must be of one size.

    python compute_mean.py train --output mean.npy
"""
import argparse

import folders
import numpy as np


def compute_mean(data):
    total = 0
    for image, _ in data:
        total = total + image
    return total / len(data)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('dataset', help='folder of pictures, or list of them')
    parser.add_argument('--root', '-R', default='.', help='folder of the paths of a list')
    parser.add_argument('--output', '-o', default='mean.npy', help='file to write')
    args = parser.parse_args(argv)
    mean = compute_mean(folders.open_pictures(args.dataset, args.root))
    np.save(args.output, mean)
    print(f'{args.output} written, mean of each channel: {mean.mean(axis=(1, 2)).round(2)}')


if __name__ == '__main__':
    main()
