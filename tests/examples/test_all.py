"""Every example runs for a few iterations, and computes the same with ``--static``."""
import json
import pathlib
import re
import shlex
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).parents[2] / 'examples'

pytestmark = pytest.mark.filterwarnings('ignore:chainer.exporters.caffe.export is experimental')

# Less data than with --test: texts of the examples, and what stands for them.
FEWER = {
    'cifar/train_cifar.py': [
        ('make_shapes(600, 16)', 'make_shapes(60, 16)'),
        ('[:500], pictures[500:]', '[:40], pictures[40:]'), ('part[:500]', 'part[:60]')],
    'static_graph_optimizations/cifar/train_cifar.py': [
        ('make_shapes(600, 16)', 'make_shapes(60, 16)'),
        ('[:500], pictures[500:]', '[:40], pictures[40:]')],
    'imagenet/train_imagenet.py': [
        ('make_shapes(250, size)', 'make_shapes(30, size)'), ('i < 200', 'i < 20')],
    'pos/postagging.py': [
        ('make_sentences(500)', 'make_sentences(60)'),
        ('[:400], sentences[400:]', '[:40], sentences[40:]')],
    'sentiment/train_sentiment.py': [
        ('make_trees(250)', 'make_trees(50)'), ('[:200], made[200:]', '[:30], made[30:]')],
    'ptb/train_ptb.py': [('get_words()', 'get_words(1000, 50)')],
    'dcgan/train_dcgan.py': [('make_shapes(500, 16)', 'make_shapes(40, 16)')],
    'image_captioning/train.py': [('make_scenes(900, ', 'make_scenes(100, ')],
    'wavenet/train.py': [('make_tones(120, ', 'make_tones(40, ')],
    'memnn/train_memnn.py': [('make_lines(500)', 'make_lines(100)')],
    'text_classification/train_text_classifier.py': [
        ('make_texts(1200)', 'make_texts(140)'), ('[:1000], data[1000:]', '[:100], data[100:]')],
}

MOST, SOME = 'most', 'some'
NONE = 'none'  # each goes another way, by the lengths of its sequences; or there are few

# Path, flags besides --test, the compiled methods and how many of their calls are programs.
RUNS = [
    ('mnist/train_mnist.py', '-e 1 --noplot', {'Classifier.forward': MOST}),
    ('mnist/train_mnist_custom_loop.py', '-e 1', {'MyNetwork.forward': MOST}),
    ('mnist/train_mnist_data_parallel.py', '-e 1 -u 20',
     {'Classifier.forward': MOST, 'MLP.forward': NONE}),
    ('mnist/train_mnist_model_parallel.py', '-e 1 -u 20', {'Classifier.forward': MOST}),
    ('cifar/train_cifar.py', '-e 1 -b 10', {'Classifier.forward': SOME}),
    ('cifar/train_cifar.py', '-e 1 -b 20 --model lenet5', {'Classifier.forward': SOME}),
    ('imagenet/train_imagenet.py', '-e 1 -b 5 --arch nin', {'Classifier.forward': SOME}),
    ('imagenet/train_imagenet.py', '-e 1 -b 5 --arch alex', {'Classifier.forward': SOME}),
    ('ptb/train_ptb.py', '-e 1 -u 10 -b 20 -l 6', {'Classifier.forward': MOST}),
    ('seq2seq/seq2seq.py', '-e 1 -u 10 -b 150 --log-interval 2 --validation-interval 3',
     {'Seq2seq.step': MOST}),
    ('word2vec/train_word2vec.py', '-e 2 -b 600', {'Reported.forward': MOST}),
    ('word2vec/train_word2vec.py', '-e 1 -b 600 -m cbow -t ns', {'Reported.forward': SOME}),
    ('word2vec/train_word2vec.py', '-e 1 -b 600 -m cbow -t original',
     {'Reported.forward': SOME}),
    ('vae/train_vae.py', '-e 1', {'VAE.bound': MOST}),
    ('dcgan/train_dcgan.py', '-e 1 -b 10 --ch 8 --display-interval 1 --snapshot-interval 4',
     {'Discriminator.forward': MOST, 'Generator.forward': SOME}),
    ('sentiment/train_sentiment.py', '-e 1 -b 10',
     {'RecursiveNet.label': MOST, 'RecursiveNet.leaf': MOST, 'RecursiveNet.node': MOST}),
    ('pos/postagging.py', '-e 2 -b 10', {'CRF.loss': SOME}),
    ('text_classification/train_text_classifier.py', '-e 2 -b 20',
     {'TextClassifier.scores': NONE}),
    ('text_classification/train_text_classifier.py', '-e 2 -b 50 --model rnn -u 4',
     {'TextClassifier.scores': NONE}),
    ('text_classification/train_text_classifier.py', '-e 2 -b 20 --model bow',
     {'TextClassifier.scores': NONE}),
    ('memnn/train_memnn.py', '-e 1 -b 50', {'MemNN.scores': MOST}),
    ('memnn/train_memnn.py', '-e 1 -b 50 --sentence-repr bow --hop 1', {'MemNN.scores': MOST}),
    ('wavenet/train.py', '-e 1 -b 9 --length 80', {'WaveNet.scores': SOME}),
    ('pix2pix/train_facade.py', '-e 1 -b 20 --ch 4 --display-interval 1 --snapshot-interval 4',
     {'Discriminator.forward': SOME, 'Generator.forward': SOME}),
    ('image_captioning/train.py', '-e 1 -b 18 -u 8 --size 16', {'CaptionModel.scores': SOME}),
    ('reinforcement_learning/dqn_cartpole.py', '--episodes 10 -u 10 --replay-start-size 64',
     {'QFunction.forward': MOST}),
    ('reinforcement_learning/dqn_cartpole.py',
     '--episodes 10 -u 10 --replay-start-size 64 --double-dqn',
     {'QFunction.forward': MOST}),
    ('reinforcement_learning/ddpg_pendulum.py', '--episodes 5 -u 10 --replay-start-size 900',
     {'Policy.forward': MOST, 'QFunction.forward': MOST}),
    ('caffe_export/export.py', '-e 1', {'Classifier.forward': MOST, 'ConvNet.forward': NONE}),
    ('serialization/save_and_load.py', '-e 1', {'Classifier.forward': MOST}),
    ('serialization/save_and_load.py', '-e 1 --format h5', {'Classifier.forward': MOST}),
]
STATIC_GRAPH = [
    ('static_graph_optimizations/mnist/train_mnist.py', '-e 1 -u 10', {'Classifier.forward': MOST}),
    ('static_graph_optimizations/cifar/train_cifar.py', '-e 1 -b 10', {'Classifier.forward': SOME}),
    ('static_graph_optimizations/ptb/train_ptb.py', '-e 1 -u 10 -b 100 -l 3',
     {'RNNForLMUnrolled.forward': MOST}),
]
SCRIPTS = sorted({run[0] for run in RUNS + STATIC_GRAPH})
REPLAYED = re.compile(r'(.+): (\d+) replayed, (\d+) define-by-run(, a part of calls)?')


def lines_of(printed):
    """Return printed lines without control characters, and how often methods were programs."""
    lines = [line.replace('\x1b[J', '').rstrip() for line in printed.splitlines()]
    found = [m for m in map(REPLAYED.match, lines) if m and not m[4]]
    counts = {m[1]: how_many(int(m[2]), int(m[3])) for m in found}
    return [line for line in lines if not REPLAYED.match(line)], counts


def how_many(replayed, define_by_run):
    return MOST if replayed > define_by_run else SOME if replayed else NONE


def run(example, path, options, monkeypatch):
    """Run an example in a folder of its own; return what it computes and what was replayed."""
    folder = pathlib.Path('static' if '--static' in options else 'plain')
    folder.mkdir()
    with monkeypatch.context() as patch:
        patch.chdir(folder)
        lines, counts = lines_of(
            example(path).main('--test', *options, replaced=FEWER.get(path, ())))
        logs = sorted(pathlib.Path().glob('*/log'))
        if logs:
            # The table has times in it.
            log = json.loads(logs[0].read_text())
            assert log, 'nothing was logged'
            for entry in log:
                entry.pop('elapsed_time')
            header = next(i for i, line in enumerate(lines) if line.split()[:1] == ['epoch'])
            lines = lines[:header] + [
                line for line in lines[header:] if not line.lstrip()[:1].isdigit()] + [log]
    return lines, counts


@pytest.mark.parametrize('path, options, methods', RUNS)
def test_run(example, monkeypatch, path, options, methods):
    needed(path, options)
    options = shlex.split(options)
    plain, none = run(example, path, options, monkeypatch)
    compiled, counts = run(example, path, [*options, '--static'], monkeypatch)
    assert plain == compiled
    assert not none
    assert counts == methods


def needed(path, options):
    if path.split('/')[0] in ('imagenet', 'vae', 'dcgan', 'pix2pix', 'image_captioning'):
        pytest.importorskip('PIL')
    if path.startswith('caffe'):
        pytest.importorskip('google.protobuf')
    if 'h5' in options:
        pytest.importorskip('h5py')


@pytest.mark.parametrize('path, options', [
    ('ptb/train_ptb.py', '-u 10 -b 20 -l 6'),
    ('word2vec/train_word2vec.py', '-b 600'),
    ('vae/train_vae.py', ''),
    ('dcgan/train_dcgan.py', '-b 20 --ch 8 --display-interval 2 --snapshot-interval 2'),
    ('pos/postagging.py', ''),
    ('memnn/train_memnn.py', '-b 50'),
    ('static_graph_optimizations/ptb/train_ptb.py', '-u 10 -b 100 -l 3'),
])
def test_goes_on_from_a_snapshot(example, path, options):
    needed(path, options)
    options = ['--test', *shlex.split(options)]
    example(path).main(*options, '-e', '1', replaced=FEWER.get(path, ()))
    before = json.loads(pathlib.Path('result/log').read_text())
    snapshot, = pathlib.Path('result').glob('snapshot*')
    example(path).main(*options, '-e', '2', '-r', str(snapshot), replaced=FEWER.get(path, ()))
    after = json.loads(pathlib.Path('result/log').read_text())
    assert after[:len(before)] == before
    assert len(after) > len(before)
    assert after[-1]['iteration'] > before[-1]['iteration']


@pytest.mark.parametrize('path, options, methods', STATIC_GRAPH)
def test_static_graph_optimizations(example, path, options, methods):
    lines, counts = lines_of(
        example(path).main('--test', *shlex.split(options), replaced=FEWER.get(path, ())))
    assert counts == methods, lines


@pytest.mark.parametrize('path', SCRIPTS)
@pytest.mark.parametrize('gpu', ['--gpu', '-g0', '--device=@cupy:1'])
def test_gpu_without_cupy(example, capsys, path, gpu):
    try:
        import cupy  # noqa: F401
    except ImportError:
        pass
    else:
        pytest.skip('CuPy is there')
    with pytest.raises(SystemExit) as info:
        example(path).main('--test', gpu)
    assert info.value.code == 2
    assert 'CUDA is not available here' in capsys.readouterr().err


def test_every_script_is_run():
    names = {path.relative_to(EXAMPLES).as_posix() for path in EXAMPLES.rglob('*.py')
             if "'__main__'" in path.read_text()}
    others = {
        'mnist/demo.py', 'glance/make_mushrooms.py', 'guides/reports.py',
        'guides/own_functions.py', 'imagenet/compute_mean.py', 'ptb/gentxt.py',
        'word2vec/search.py', 'text_classification/run_text_classifier.py',
        'wavenet/generate.py', 'image_captioning/predict.py', 'seq2seq/make_corpus.py',
        'caffe_import/evaluate_caffe_net.py'}
    # tests/companions/chainermn runs those that need several processes.
    names = {name for name in names if not name.startswith('chainermn/')}
    assert names - others == set(SCRIPTS)


def test_readme_has_every_script():
    text = (EXAMPLES / 'README.md').read_text()
    named = set(re.findall(r'^\| `([\w/]+\.py)`', text, re.MULTILINE))
    assert set(SCRIPTS) <= named
    assert [path for path in named if not (EXAMPLES / path).is_file()] == []


def test_from_the_command_line(tmp_path):
    """A script finds its modules, from whichever folder it is called."""
    done = subprocess.run(
        [sys.executable, EXAMPLES / 'memnn/train_memnn.py', '--test', '-e1', '-b500', '-g', '-1'],
        cwd=tmp_path, capture_output=True, text=True, check=True)
    assert 'where is' in done.stdout
