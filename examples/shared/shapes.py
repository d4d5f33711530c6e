"""Invented pictures: coloured shapes on a plain ground.

    images, labels = make_shapes(100, 32)           # what is in the picture: one of SHAPES
    pictures, captions = make_scenes(100, 32)       # two shapes, and a sentence about them
"""
import numpy as np

SHAPES = ['circle', 'square', 'triangle', 'ring', 'cross']
COLORS = {
    'red': (0.9, 0.2, 0.15), 'green': (0.2, 0.7, 0.25), 'blue': (0.2, 0.35, 0.9),
    'yellow': (0.95, 0.85, 0.2), 'white': (0.95, 0.95, 0.95)}


def _mask(shape, size, center, radius):
    """Return an array of the shape (size, size) that is True where the shape is."""
    y, x = np.mgrid[:size, :size]
    y, x = (y - center[0]) / radius, (x - center[1]) / radius
    distance = np.hypot(y, x)
    return {
        'circle': distance < 1,
        'square': np.maximum(abs(y), abs(x)) < 0.8,
        'triangle': (y < 0.8) & (y > 2 * abs(x) - 1),
        'ring': (distance < 1) & (distance > 0.55),
        'cross': (np.minimum(abs(y), abs(x)) < 0.3) & (np.maximum(abs(y), abs(x)) < 0.9),
    }[shape]


def _ground(rng, size):
    color = rng.uniform(0.1, 0.4, (3, 1, 1))
    return color + rng.normal(0, 0.03, (3, size, size))


def _paint(image, mask, color, rng):
    image[:, mask] = np.array(COLORS[color])[:, None] + rng.normal(0, 0.03, (3, mask.sum()))


def make_shapes(n, size, seed=0):
    """Return pictures of one shape each, and which one.

    Returns:
        Arrays of float32 between 0 and 1 of the shape (n, 3, size, size), and of int32.
    """
    rng = np.random.RandomState(seed)
    labels = rng.randint(0, len(SHAPES), n).astype(np.int32)
    images = np.empty((n, 3, size, size), np.float32)
    for image, label in zip(images, labels):
        image[...] = _ground(rng, size)
        center = rng.uniform(0.4, 0.6, 2) * size
        mask = _mask(SHAPES[label], size, center, rng.uniform(0.25, 0.35) * size)
        _paint(image, mask, rng.choice(list(COLORS)), rng)
    return images.clip(0, 1), labels


def make_scenes(n, size, seed=0):
    """Return pictures of two shapes, one above or beside the other, and sentences about them.

    Returns:
        An array of float32 between 0 and 1 of the shape (n, 3, size, size), and a list of strings
        such as "a red circle above a blue square".
    """
    rng = np.random.RandomState(seed)
    places = {'above': [(0.27, 0.5), (0.73, 0.5)], 'left of': [(0.5, 0.27), (0.5, 0.73)]}
    images = np.empty((n, 3, size, size), np.float32)
    captions = []
    for image in images:
        image[...] = _ground(rng, size)
        relation = rng.choice(list(places))
        names = []
        for place in places[relation]:
            shape, color = rng.choice(SHAPES), rng.choice(list(COLORS))
            center = (np.array(place) + rng.uniform(-0.03, 0.03, 2)) * size
            _paint(image, _mask(shape, size, center, 0.2 * size), color, rng)
            names.append(f'a {color} {shape}')
        captions.append(f' {relation} '.join(names))
    return images.clip(0, 1), captions
