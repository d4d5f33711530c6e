"""Save arrays as pictures (needs Pillow)."""
import os

import numpy as np


def save(path, image):
    """Save an image of the shape (channels, height, width), with values from 0 to 1."""
    from PIL import Image  # not needed by those who draw nothing

    os.makedirs(os.path.dirname(path) or '.', exist_ok=True)
    pixels = (np.asarray(image).clip(0, 1) * 255).astype(np.uint8)
    pixels = pixels[0] if len(pixels) == 1 else pixels.transpose(1, 2, 0)
    Image.fromarray(pixels).save(path)


def save_grid(path, images, n_columns):
    """Save images of the shape (n, channels, height, width) side by side, in rows.

    Small images are made larger, 32 pixels at least.
    """
    images = np.asarray(images)
    scale = max(1, 32 // images.shape[3])
    images = images.repeat(scale, axis=2).repeat(scale, axis=3)
    n, channels, height, width = images.shape
    assert n % n_columns == 0, (n, n_columns)
    rows = images.reshape(n // n_columns, n_columns, channels, height, width)
    save(path, rows.transpose(2, 0, 3, 1, 4).reshape(channels, -1, n_columns * width))
