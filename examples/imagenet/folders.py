"""Pictures of a folder that has a folder for each class."""
import os

import chainer

_ENDINGS = '.jpg', '.jpeg', '.png', '.bmp'


def list_classes(root):
    """Return the names of the classes, sorted."""
    classes = sorted(entry.name for entry in os.scandir(root) if entry.is_dir())
    if not classes:
        raise SystemExit(f'There is no folder of a class in {root}')
    return classes


def list_pictures(root, classes):
    """Return pairs of a path (below ``root``) and the number of the class.

    A class may have no folder here, as in a small set to validate with.
    """
    pairs = []
    for label, name in enumerate(classes):
        folder = os.path.join(root, name)
        files = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
        pairs.extend((os.path.join(name, file), label) for file in files
                     if file.lower().endswith(_ENDINGS))
    return pairs


def open_pictures(path, root, classes=None):
    """Return a data set of pictures and labels.

    Args:
        path (str): A folder with a folder for each class, or a file with lines of a path and a
            number.
        root (str): Folder of the paths of a file.
        classes (list of str): Names of the folders in the order of their numbers.
    """
    if os.path.isdir(path):
        pairs = list_pictures(path, classes or list_classes(path))
        return chainer.datasets.LabeledImageDataset(pairs, path)
    return chainer.datasets.LabeledImageDataset(path, root)
