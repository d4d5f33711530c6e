"""Write a small parallel corpus: numbers in English and in French words.

    python make_corpus.py --out corpus

writes train.en, train.fr, valid.en, valid.fr and the vocabularies vocab.en and vocab.fr, in the
form that seq2seq.py reads: a sentence a line, words with spaces between them; a word a line.
"""
import argparse
import pathlib
import random

_ENGLISH = (
    'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen '
    'sixteen seventeen eighteen nineteen').split()
_ENGLISH_TENS = '- - twenty thirty forty fifty sixty seventy eighty ninety'.split()
_FRENCH = (
    'zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze '
    'seize').split()
_FRENCH_TENS = '- - vingt trente quarante cinquante soixante'.split()


def english(n):
    """Return a number below 1,000 in English words."""
    if n >= 100:
        rest = ' and ' + english(n % 100) if n % 100 else ''
        return _ENGLISH[n // 100] + ' hundred' + rest
    if n < 20:
        return _ENGLISH[n]
    return _ENGLISH_TENS[n // 10] + (' ' + _ENGLISH[n % 10] if n % 10 else '')


def french(n):
    """Return a number below 1,000 in French words, without hyphens."""
    if n >= 100:
        hundreds = 'cent' if n < 200 else _FRENCH[n // 100] + ' cent'
        return hundreds + (' ' + french(n % 100) if n % 100 else 's' if n >= 200 else '')
    if n < 17:
        return _FRENCH[n]
    if n < 20:
        return 'dix ' + _FRENCH[n - 10]
    if n >= 80:
        return 'quatre vingts' if n == 80 else 'quatre vingt ' + french(n - 80)
    tens = 6 if n >= 60 else n // 10
    rest = n - 10 * tens
    link = ' et ' if rest in (1, 11) else ' '
    return _FRENCH_TENS[tens] + (link + french(rest) if rest else '')


def make_corpus(folder, n_valid=100, seed=0):
    """Write the files; return the folder."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    numbers = list(range(1000))
    random.Random(seed).shuffle(numbers)
    parts = {'train': numbers[n_valid:], 'valid': numbers[:n_valid]}
    for language, say in (('en', english), ('fr', french)):
        for part, members in parts.items():
            lines = [say(n) for n in members]
            (folder / f'{part}.{language}').write_text(
                '\n'.join(lines) + '\n', encoding='utf-8')
        words = sorted({word for n in numbers for word in say(n).split()})
        (folder / f'vocab.{language}').write_text(
            '\n'.join(words) + '\n', encoding='utf-8')
    return folder


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--out', '-o', default='corpus', help='folder of the files')
    print(f'written to {make_corpus(parser.parse_args().out)}')


if __name__ == '__main__':
    main()
