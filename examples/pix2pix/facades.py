"""Pictures of houses, and maps that tell what each pixel shows.

A folder has files ``NAME.jpg``, the pictures, and ``NAME.png`` of the same size, whose pixels are
the numbers of what is there (the CMP Facade Database of R. Tylecek and R. Sara has this form).
"""
import pathlib

import numpy as np

import chainer

N_LABELS = 12
WALL, DOOR, WINDOW, ROOF, SKY = range(1, 6)
_COLORS = {SKY: (0.55, 0.7, 0.9), ROOF: (0.55, 0.25, 0.2), DOOR: (0.35, 0.2, 0.1),
           WINDOW: (0.75, 0.85, 0.9)}


def make_houses(n, size, seed=0):
    """Return invented maps and pictures.

    Returns:
        An array of int32 of the shape (n, size, size) with labels, and one of float32 of the shape
        (n, 3, size, size) with values from -1 to 1.
    """
    rng = np.random.RandomState(seed)
    maps = np.full((n, size, size), SKY, np.int32)
    images = np.empty((n, 3, size, size), np.float32)
    unit = size // 8
    for labels, image in zip(maps, images):
        top = rng.randint(1, 3) * unit
        labels[top:] = ROOF
        labels[top + unit:] = WALL
        for row in range(top + 3 * unit // 2, size - 2 * unit, 2 * unit):
            for column in range(unit // 2, size - unit, 2 * unit):
                labels[row:row + unit, column:column + unit] = WINDOW
        door = rng.randint(0, 7) * unit
        labels[-2 * unit + unit // 2:, door:door + unit] = DOOR

        wall = rng.uniform([0.65, 0.55, 0.4], [0.9, 0.8, 0.6])
        for label in range(1, 6):
            mask = labels == label
            color = np.asarray(_COLORS.get(label, wall), np.float32)
            image[:, mask] = color[:, None] + rng.normal(0, 0.02, (3, mask.sum()))
        image[:, labels == WINDOW] -= 0.25 * ((np.mgrid[:size, :size].sum(axis=0)[
            labels == WINDOW] % unit) < unit // 2)
    return maps, images.clip(0, 1) * 2 - 1


def one_hot(labels):
    """Return maps of -1 and 1, one for each label, of the shape (N_LABELS, height, width)."""
    return np.where(labels == np.arange(N_LABELS)[:, None, None], 1, -1).astype(np.float32)


class Facades(chainer.dataset.DatasetMixin):
    """Pairs of maps and pictures of a folder, cut to random squares of ``size`` pixels."""

    def __init__(self, folder, size):
        self.paths = sorted(pathlib.Path(folder).glob('*.jpg'))
        if not self.paths:
            raise SystemExit(f'There are no .jpg files in {folder}')
        self.size = size

    def __len__(self):
        return len(self.paths)

    def get_example(self, i):
        from PIL import Image

        path = self.paths[i]
        with Image.open(path) as picture, Image.open(path.with_suffix('.png')) as labels:
            width, height = picture.size
            scale = (self.size + self.size // 8) / min(width, height)
            shape = round(width * scale), round(height * scale)
            picture = np.asarray(picture.convert('RGB').resize(shape, Image.BILINEAR))
            # The labels of the file begin with 1.
            labels = np.asarray(labels.resize(shape, Image.NEAREST)).astype(np.int32) - 1
        y, x = (np.random.randint(n - self.size + 1) for n in labels.shape)
        window = np.s_[y:y + self.size, x:x + self.size]
        picture = picture[window].transpose(2, 0, 1).astype(np.float32) / 127.5 - 1
        return one_hot(labels[window]), picture
