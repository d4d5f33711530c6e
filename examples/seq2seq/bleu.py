"""BLEU: how much a translation has in common with one made by a human.

K. Papineni et al., "BLEU: a Method for Automatic Evaluation of Machine Translation" (ACL 2002).
"""
import collections
import math


def _ngrams(words, n):
    return collections.Counter(tuple(words[i:i + n]) for i in range(len(words) - n + 1))


def corpus_bleu(references, hypotheses, max_n=4, epsilon=0.1):
    """Return the score of all translations together, between 0 and 1.

    It is the geometric mean of the parts of the runs of 1 to ``max_n`` words that are in the
    reference, too, made smaller if the translations are shorter than the references.

    Args:
        references, hypotheses: Lists of sentences, each a list of words.
        max_n (int): The longest runs of words that are compared.
        epsilon (float): Stands for the number of matches where there are none.
    """
    logs = []
    for n in range(1, max_n + 1):
        matches = total = 0
        for reference, hypothesis in zip(references, hypotheses):
            found = _ngrams(hypothesis, n)
            matches += sum((found & _ngrams(reference, n)).values())
            total += sum(found.values())
        if total:
            logs.append(math.log((matches or epsilon) / total))
    length = sum(map(len, hypotheses))
    if not length:
        return 0.
    brevity = min(0., 1 - sum(map(len, references)) / length)
    return math.exp(brevity + sum(logs) / len(logs))
