"""Pictures and sentences about them, from files in the form of MSCOCO, or invented."""
import collections
import json
import os

import numpy as np

BEGIN, END, UNKNOWN = '<s>', '</s>', '<unk>'


def make_vocabulary(captions, min_count=1):
    """Return numbers for the words that are frequent enough."""
    counts = collections.Counter(word for caption in captions for word in caption.split())
    words = [BEGIN, END, UNKNOWN] + sorted(w for w, n in counts.items() if n >= min_count)
    return {word: i for i, word in enumerate(words)}


def to_arrays(captions, vocabulary, length):
    """Return the words and the words that follow, two arrays of the shape (captions, length + 1).

    What is after the end of a sentence is -1.
    """
    words = np.full((len(captions), length + 2), -1, np.int32)
    for row, caption in zip(words, captions):
        numbers = [vocabulary.get(word, vocabulary[UNKNOWN]) for word in caption.split()[:length]]
        numbers = [vocabulary[BEGIN]] + numbers + [vocabulary[END]]
        row[:len(numbers)] = numbers
    inputs = words[:, :-1].copy()
    inputs[words[:, 1:] < 0] = -1
    return inputs, words[:, 1:].copy()


def read_image(path, size):
    """Return a picture, made ``size`` by ``size`` pixels, with values from 0 to 1."""
    from PIL import Image

    with Image.open(path) as image:
        image = image.convert('RGB').resize((size, size), Image.BILINEAR)
        return np.asarray(image, np.float32).transpose(2, 0, 1) / 255


def read_coco(annotations, folder, size):
    """Return the pictures and the captions of a file of annotations; several for a picture."""
    with open(annotations, encoding='utf-8') as file:
        data = json.load(file)
    names = {image['id']: image['file_name'] for image in data['images']}
    images, captions = [], []
    for annotation in data['annotations']:
        images.append(read_image(os.path.join(folder, names[annotation['image_id']]), size))
        captions.append(annotation['caption'].lower().replace('.', ' ').replace(',', ' '))
    return np.stack(images), captions
