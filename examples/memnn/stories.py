"""Stories with questions, in the form of the bAbI tasks of J. Weston et al. (arXiv:1502.05698).

Each line has a number, which begins anew with each story. The line of a question also has the
answer and the number of the line that tells it, with tabs between:

    1 Mary went to the kitchen.
    2 John went to the garden.
    3 Where is Mary? <tab> kitchen <tab> 1
"""
import collections
import random

import numpy as np

Question = collections.namedtuple('Question', 'story question answer')


def make_lines(n_stories, seed=0):
    """Return lines of invented stories of people who walk about."""
    rng = random.Random(seed)
    people = 'Mary John Daniel Sandra'.split()
    places = 'kitchen garden hallway office bathroom bedroom'.split()
    verbs = 'went moved travelled'.split()
    lines = []
    for _ in range(n_stories):
        where, number = {}, 0
        for _ in range(4):
            for _ in range(2):
                number += 1
                person, place = rng.choice(people), rng.choice(places)
                where[person] = place, number
                lines.append(f'{number} {person} {rng.choice(verbs)} to the {place}.')
            number += 1
            person = rng.choice(sorted(where))
            lines.append('{} Where is {}? \t{}\t{}'.format(number, person, *where[person]))
    return lines


def _words(text):
    return text.lower().replace('.', ' ').replace('?', ' ').split()


def parse(lines):
    """Return a list of questions, each with the sentences before it (lists of words)."""
    questions, story = [], []
    for line in lines:
        number, text = line.split(' ', 1)
        if number == '1':
            story = []
        if '\t' in text:
            question, answer = text.split('\t')[:2]
            questions.append(Question(list(story), _words(question), answer.strip().lower()))
        else:
            story.append(_words(text))
    return questions


def number_words(questions, words=None):
    """Return numbers for all words, 0 being the empty place after a sentence."""
    words = {'<empty>': 0} if words is None else words
    for story, question, answer in questions:
        for sentence in (*story, question, [answer]):
            for word in sentence:
                words.setdefault(word, len(words))
    return words


def to_arrays(questions, words, max_memory=50):
    """Return the last sentences of the stories, the questions and the answers, as arrays.

    Returns:
        Arrays of int32 of the shapes (questions, sentences, words), (questions, words) and
        (questions,), filled up with zeros.
    """
    length = max(len(s) for q in questions for s in (*q.story, q.question))
    memory = min(max_memory, max(len(q.story) for q in questions))
    stories = np.zeros((len(questions), memory, length), np.int32)
    queries = np.zeros((len(questions), length), np.int32)
    for i, (story, question, _) in enumerate(questions):
        for row, sentence in zip(stories[i], story[-memory:]):
            row[:len(sentence)] = [words[word] for word in sentence]
        queries[i, :len(question)] = [words[word] for word in question]
    answers = np.array([words[q.answer] for q in questions], np.int32)
    return stories, queries, answers
