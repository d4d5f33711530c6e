"""The examples about texts: data, what is computed of them, and the scripts that use a model."""
import io
import math
import sys

import numpy as np
import pytest

import chainer


@pytest.fixture
def module(example):
    """Function that imports a module of an example."""
    return lambda path: example(path).load()


class TestSeq2seq:

    @pytest.mark.parametrize('n, english, french', [
        (0, 'zero', 'zéro'),
        (17, 'seventeen', 'dix sept'),
        (21, 'twenty one', 'vingt et un'),
        (71, 'seventy one', 'soixante et onze'),
        (76, 'seventy six', 'soixante seize'),
        (80, 'eighty', 'quatre vingts'),
        (81, 'eighty one', 'quatre vingt un'),
        (97, 'ninety seven', 'quatre vingt dix sept'),
        (100, 'one hundred', 'cent'),
        (200, 'two hundred', 'deux cents'),
        (999, 'nine hundred and ninety nine', 'neuf cent quatre vingt dix neuf'),
    ])
    def test_numbers(self, module, n, english, french):
        names = module('seq2seq/make_corpus.py')
        assert names['english'](n) == english
        assert names['french'](n) == french

    def test_all_numbers_differ(self, module):
        names = module('seq2seq/make_corpus.py')
        for language in ('english', 'french'):
            assert len({names[language](n) for n in range(1000)}) == 1000

    def test_corpus(self, example, monkeypatch):
        monkeypatch.setattr(sys, 'argv', ['make_corpus.py', '--out', 'corpus'])
        assert example('seq2seq/make_corpus.py').run() == 'written to corpus\n'
        printed = example('seq2seq/seq2seq.py').main(
            'corpus/train.en', 'corpus/train.fr', 'corpus/vocab.en', 'corpus/vocab.fr',
            '--validation-source', 'corpus/valid.en', '--validation-target', 'corpus/valid.fr',
            '-e', '1', '-b', '300', '-u', '8', '-l', '2', '--log-interval', '1',
            '--validation-interval', '3', '--max-source-sentence', '4', '--save', 'end.npz')
        assert 'Train source unknown ratio: 0.00%' in printed
        # Numbers of at most four words are left.
        n = int(printed.split('Train data size: ')[1].split()[0])
        assert 200 < n < 500

    def test_without_files(self, example, capsys):
        with pytest.raises(SystemExit):
            example('seq2seq/seq2seq.py').main('train.en')
        assert 'give SOURCE TARGET' in capsys.readouterr().err

    def test_bleu(self, module):
        bleu = module('seq2seq/bleu.py')['corpus_bleu']
        sentence = 'the cat is on the mat'.split()
        assert bleu([sentence], [sentence]) == 1
        assert bleu([sentence], [[]]) == 0
        # The counts by hand: 5/6, 3/5, 1/4 runs of 1, 2, 3 words are in the reference, too.
        found = bleu([sentence], ['the cat sat on the mat'.split()], max_n=3)
        assert found == pytest.approx((5 / 6 * 3 / 5 * 1 / 4) ** (1 / 3))
        # Half as long: the factor is e ** (1 - 6 / 3).
        assert bleu([sentence], ['the cat is'.split()], max_n=2) == pytest.approx(math.exp(-1))
        # A word counts as often as it is in the reference.
        assert bleu([sentence], [['the'] * 6], max_n=1) == pytest.approx(2 / 6)

    def test_translations_end_with_eos(self, module):
        names = module('seq2seq/seq2seq.py')
        model = names['Seq2seq'](1, 5, 6, 4)
        written = iter([[2, 3, 1], [1, 4, 2], [5, 1, 2]])

        def step(h, c, words):
            scores = np.zeros((3, 6), np.float32)
            scores[range(3), next(written)] = 1
            return h, c, chainer.Variable(scores)

        model.step = step
        xs = [np.array([2], np.int32)] * 3
        result = [words.tolist() for words in model.translate(xs, max_length=3)]
        assert result == [[2], [3, 4], []]


class TestPtb:

    def test_generates_text(self, example):
        script = example('ptb/train_ptb.py')
        script.main('--test', '-e', '1', '-b', '100', '-l', '5', '-u', '8')
        words = example('ptb/gentxt.py').main(
            '--test', '-u', '8', '-p', 'the dog', '-l', '5', '--sample', '0').split()
        assert words[:2] == ['the', 'dog']
        assert len(words) <= 7
        with pytest.raises(SystemExit, match='does not know: dragon'):
            example('ptb/gentxt.py').main('--test', '-u', '8', '-p', 'the dragon')

    def test_iterator_reads_from_all_places(self, module):
        iterator = module('ptb/sequences.py')['ParallelSequentialIterator']
        text = np.arange(10)
        it = iterator(text, 2, repeat=False)
        assert it.previous_epoch_detail is None
        assert list(it) == [
            [(0, 1), (5, 6)], [(1, 2), (6, 7)], [(2, 3), (7, 8)], [(3, 4), (8, 9)],
            [(4, 5), (9, 0)]]
        assert (it.epoch, it.is_new_epoch, it.epoch_detail) == (1, True, 1)
        assert it.previous_epoch_detail == pytest.approx(0.8)
        chainer.serializers.save_npz('it.npz', it)
        other = iterator(text, 2)
        chainer.serializers.load_npz('it.npz', other)
        assert next(other) == [(5, 6), (0, 1)]
        assert (other.epoch, other.is_new_epoch) == (1, False)

    def test_unrolled_network_is_the_same(self, example):
        """Both examples report the same perplexity of the same validation text."""
        printed = [
            example(path).main('--test', '-e', '1', '-b', '100', '-l', '3', '-u', '8',
                               replaced=[('get_words()', 'get_words(1000, 60)')])
            for path in ('ptb/train_ptb.py', 'static_graph_optimizations/ptb/train_ptb.py')]
        rows = [next(line for line in text.replace('\x1b[J', '').splitlines()
                     if line[:1].isdigit()).split() for text in printed]
        assert rows[0][:2] == rows[1][:2]
        assert float(rows[0][3]) == pytest.approx(float(rows[1][3]), rel=1e-5)


class TestWord2vec:

    def test_search(self, example):
        example('word2vec/train_word2vec.py').main('--test', '-e', '25', '-b', '500', '--static')
        lines = example('word2vec/search.py').main('--words', 'bread', 'unicorn').splitlines()
        assert example('word2vec/search.py').main('--test').splitlines() == lines[:6]
        assert lines[0] == 'query: bread'
        found = [line.split(': ')[0] for line in lines[1:6]]
        assert len({'cheese', 'fish', 'soup', 'apple', 'rice'} & set(found[:3])) >= 2
        assert lines[6] == '"unicorn" is not among the words'

    def test_asks_for_words(self, example, monkeypatch):
        with open('word2vec.model', 'w') as file:
            file.write('3 2\na 1 0\nb 2 0.1\nc 0 3\n')
        answers = iter(['a', 'x'])

        def ask(prompt):
            try:
                return next(answers)
            except StopIteration:
                raise EOFError from None

        monkeypatch.setattr('builtins.input', ask)
        assert example('word2vec/search.py').main().splitlines() == [
            'query: a', 'b: 0.9988', 'c: 0.0000', '"x" is not among the words']

    def test_windows(self, module):
        iterator = module('word2vec/train_word2vec.py')['WindowIterator']
        text = np.arange(100, 130)
        it = iterator(text, 4, 8, repeat=False)
        centers = []
        for center, contexts in it:
            w = contexts.shape[1] // 2
            assert 1 <= w < 4
            offsets = [i for i in range(-w, w + 1) if i]
            np.testing.assert_array_equal(contexts, center[:, None] + offsets)
            centers.extend(center)
        assert sorted(centers) == list(range(104, 126))


class TestSentiment:

    def test_trees(self, module):
        trees = module('sentiment/trees.py')
        line = '(4 (2 a) (4 (3 very) (4 good)))'
        tree = trees['parse'](line)
        assert str(tree) == line
        assert [leaf.word for leaf in tree.leaves()] == ['a', 'very', 'good']
        assert [leaf.label for leaf in tree.leaves()] == [2, 3, 4]
        for made in trees['make_trees'](20):
            assert str(trees['parse'](str(made))) == str(made)
            assert 0 <= made.label < trees['N_LABELS']

    def test_from_files(self, example, module):
        made = module('sentiment/trees.py')['make_trees'](20)
        for name, part in (('train.txt', made[:15]), ('valid.txt', made[15:])):
            with open(name, 'w') as file:
                file.writelines(f'{tree}\n' for tree in part)
        printed = example('sentiment/train_sentiment.py').main(
            '--train', 'train.txt', '--valid', 'valid.txt', '-e', '1', '-u', '4')
        assert printed.startswith(f'for example: {made[0]}\n')


class TestPos:

    def test_learns(self, example):
        printed = example('pos/postagging.py').main('--test', '-e', '4')
        assert float(printed.replace('\x1b[J', '').splitlines()[5].split()[4]) > 0.9

    def test_from_files(self, example, module):
        sentences = module('pos/tagged.py')['make_sentences'](30)
        for name, part in (('train.txt', sentences[:20]), ('valid.txt', sentences[20:])):
            with open(name, 'w') as file:
                file.writelines(' '.join(f'{w}/{t}' for w, t in s) + '\n' for s in part)
        assert module('pos/tagged.py')['read_sentences']('train.txt') == sentences[:20]
        printed = example('pos/postagging.py').main(
            '--train', 'train.txt', '--valid', 'valid.txt', '-e', '1', '-u', '4')
        assert printed.startswith('20 sentences')

    def test_batches(self, module):
        by_length = module('shared/batches.py')['by_length']
        data = ['a', 'bb', 'c', 'dd', 'e', 'fff']
        batches = by_length(data, 2)
        assert sorted(x for batch in batches for x in batch) == data[:1] + sorted(data[1:])
        assert sorted(map(len, batches)) == [1, 1, 2, 2]
        assert all(len({len(x) for x in batch}) == 1 for batch in batches)


@pytest.mark.parametrize('model', ['rnn', 'cnn', 'bow'])
def test_text_classifier_runs(example, model):
    script = example('text_classification/train_text_classifier.py')
    script.main('--test', '-e', '1', '-b', '200', '-u', '6', '--model', model)
    names = example('text_classification/run_text_classifier.py').load()
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, 'stdout', out)
        names['main']([], ['They never baked some bread\n', 'rain\n'])
        names['main'](['--test'])
    first, second, test = out.getvalue().splitlines()
    assert test == first.replace('They', 'they')
    assert first.endswith(' : They never baked some bread')
    assert second.split()[1] in ('food', 'music', 'sport', 'weather')
    assert 0.25 <= float(second.split()[0]) <= 1


def test_texts_of_a_file(module):
    names = module('text_classification/texts.py')
    with open('texts.tsv', 'w') as file:
        file.write('good\tA fine Day\n\nbad\ta day\n')
    texts = names['read_texts']('texts.tsv')
    assert texts == [(['a', 'fine', 'day'], 'good'), (['a', 'day'], 'bad')]
    vocabulary = names['make_vocabulary']([words for words, _ in texts])
    assert vocabulary == {'a': 2, 'day': 3}
    assert names['to_array'](['a', 'fine', 'day'], vocabulary).tolist() == [2, 1, 3, 0]


class TestMemnn:

    def test_stories(self, module):
        names = module('memnn/stories.py')
        questions = names['parse']([
            '1 Mary went to the kitchen.', '2 Where is Mary? \tkitchen\t1',
            '3 John moved.', '4 Where is Mary? \tkitchen\t1', '1 Sandra left.'])
        assert [len(q.story) for q in questions] == [1, 2]
        assert questions[1].question == ['where', 'is', 'mary']
        words = names['number_words'](questions)
        stories, queries, answers = names['to_arrays'](questions, words)
        assert (stories.shape, queries.shape) == ((2, 2, 5), (2, 5))
        assert answers.tolist() == [words['kitchen']] * 2
        assert (stories[0, 1] == 0).all()
        stories, _, _ = names['to_arrays'](questions, words, max_memory=1)
        assert stories[1, 0].tolist()[:2] == [words['john'], words['moved']]

    def test_learns(self, example):
        printed = example('memnn/train_memnn.py').main('--test', '-e', '2', '--static')
        assert float(printed.replace('\x1b[J', '').splitlines()[3].split()[4]) > 0.9
