"""The examples about pictures, sounds, acting, and other formats."""
import os
import pathlib

import numpy as np
import pytest

import chainer

pytestmark = pytest.mark.filterwarnings('ignore:chainer.exporters.caffe.export is experimental')


@pytest.fixture
def module(example):
    return lambda path: example(path).load()


def image_size(path):
    image = pytest.importorskip('PIL.Image')
    with image.open(path) as opened:
        return opened.size


def test_shapes(module):
    names = module('shared/shapes.py')
    images, labels = names['make_shapes'](50, 16)
    assert (images.shape, images.dtype) == ((50, 3, 16, 16), np.float32)
    assert 0 <= images.min() and images.max() <= 1
    assert set(labels) == set(range(len(names['SHAPES'])))
    scenes, captions = names['make_scenes'](30, 20)
    assert scenes.shape == (30, 3, 20, 20)
    for image, caption in zip(scenes, captions, strict=True):
        words = caption.split()
        # The colour of the second shape is where the sentence says.
        place = (14, 10) if 'above' in words else (10, 14)
        if words[-1] != 'ring':
            np.testing.assert_allclose(
                image[:, place[0], place[1]], names['COLORS'][words[-2]], atol=0.15)


def test_saved_pictures(module):
    pytest.importorskip('PIL')
    names = module('shared/pictures.py')
    images = np.arange(6, dtype=np.float32).reshape(6, 1, 1, 1).repeat(8, 2).repeat(8, 3) / 5
    names['save_grid']('folder/grid.png', images, 3)
    assert image_size('folder/grid.png') == (96, 64)
    from PIL import Image
    with Image.open('folder/grid.png') as image:
        assert image.getpixel((40, 40)) == int(4 / 5 * 255)


def test_vae_draws(example):
    pytest.importorskip('PIL')
    example('vae/train_vae.py').main('--test', '-e', '1', '--out', 'pictures')
    assert image_size('pictures/train.png') == (320, 64)
    assert {'test.png', 'sampled.png'} <= set(os.listdir('pictures'))


def test_vae_bound(module):
    """The distance to the prior is that of the formula, the rest a mean over the samples."""
    VAE = module('vae/net.py')['VAE']
    model = VAE(6, 2, 4, n_samples=3)
    x = np.random.rand(5, 6).astype(np.float32).round()
    reconstruction, penalty = model.bound(x)
    q = model.encoder(x)
    mean, variance = q.mean.array, q.variance.array
    expected = 0.5 * (mean ** 2 + variance - np.log(variance) - 1).sum() / 5
    assert float(penalty.array) == pytest.approx(expected, rel=1e-5)
    assert -6 < float(reconstruction.array) < 0
    assert float(model(x).array) > 0


def test_dcgan_draws(example):
    pytest.importorskip('PIL')
    example('dcgan/train_dcgan.py').main(
        '--test', '-e', '1', '-b', '250', '--ch', '8', '--snapshot-interval', '1')
    assert image_size('result/preview/image00000002.png') == (320, 320)


def test_dcgan_of_a_folder(example, module):
    pytest.importorskip('PIL')
    save = module('shared/pictures.py')['save']
    for i in range(4):
        save(f'pictures/{i}.png', np.full((3, 32, 32), i / 4))
    printed = example('dcgan/train_dcgan.py').main(
        '--dataset', 'pictures', '-e', '1', '-b', '2', '--ch', '8', '--n-hidden', '4',
        '--display-interval', '1', '--snapshot-interval', '2')
    assert printed.startswith('4 pictures\n')
    assert image_size('result/preview/image00000002.png') == (320, 320)


def test_pix2pix_draws(example):
    pytest.importorskip('PIL')
    example('pix2pix/train_facade.py').main(
        '--test', '-e', '1', '-b', '40', '--ch', '4', '--snapshot-interval', '2')
    assert image_size('result/preview/image_00000002.png') == (256, 96)


def test_pix2pix_of_a_folder(module):
    image = pytest.importorskip('PIL.Image')
    names = module('pix2pix/facades.py')
    maps, _ = names['make_houses'](2, 32)
    for i, labels in enumerate(maps):
        image.fromarray((labels + 1).astype(np.uint8)).save(f'{i}.png')
        image.fromarray(np.full((32, 32, 3), 255, np.uint8)).save(f'{i}.jpg')
    data = names['Facades']('.', 24)
    x, picture = data[1]
    assert (x.shape, picture.shape) == ((12, 24, 24), (3, 24, 24))
    assert set(np.unique(x)) == {-1, 1}
    np.testing.assert_array_equal((x == 1).sum(axis=0), 1)
    assert picture.min() > 0.95
    os.mkdir('empty')
    with pytest.raises(SystemExit, match='no .jpg files in empty'):
        names['Facades']('empty', 24)


class TestCaptioning:

    def test_predict(self, example):
        pytest.importorskip('PIL')
        example('image_captioning/train.py').main('--test', '-e', '1', '-b', '300', '-u', '8')
        lines = example('image_captioning/predict.py').main(
            'result/picture0.png', 'result/picture2.png').splitlines()
        assert [line.split(':')[0] for line in lines] == [
            'result/picture0.png', 'result/picture2.png']
        drawn = example('image_captioning/predict.py').main('--test').splitlines()
        assert len(drawn) == 3 and set(lines) < set(drawn)
        with pytest.raises(SystemExit):
            example('image_captioning/predict.py').main()

    def test_words(self, module):
        names = module('image_captioning/captions.py')
        vocabulary = names['make_vocabulary'](['a red dog', 'a cat'])
        begin, end, unknown, a, cat = (
            vocabulary[w] for w in ('<s>', '</s>', '<unk>', 'a', 'cat'))
        inputs, targets = names['to_arrays'](['a cat', 'a blue cat'], vocabulary, 3)
        assert inputs.tolist() == [[begin, a, cat, -1], [begin, a, unknown, cat]]
        assert targets.tolist() == [[a, cat, end, -1], [a, unknown, cat, end]]

    def test_coco(self, example, module):
        pytest.importorskip('PIL')
        pathlib.Path('images').mkdir()
        for name in ('x', 'y'):
            module('shared/pictures.py')['save'](f'images/{name}.png', np.ones((3, 20, 30)))
        pathlib.Path('captions.json').write_text(
            '{"images": [{"id": 7, "file_name": "x.png"}, {"id": 8, "file_name": "y.png"}],'
            ' "annotations": [{"image_id": 7, "caption": "A dog."},'
            ' {"image_id": 8, "caption": "A cat"}, {"image_id": 7, "caption": "a dog runs"}]}')
        printed = example('image_captioning/train.py').main(
            '--annotations', 'captions.json', '--images', 'images', '--size', '16', '-e', '1',
            '-u', '4')
        assert printed.startswith('3 pictures, 7 words; for example: a dog')


class TestWavenet:

    def test_mu_law(self, module):
        names = module('wavenet/sounds.py')
        x = np.linspace(-1, 1, 101).astype(np.float32)
        levels = names['mu_law'](x)
        assert (levels[0], levels[-1], levels.dtype) == (0, 255, np.int32)
        np.testing.assert_allclose(names['inverse_mu_law'](levels), x, atol=0.025)
        # The levels lie ten times closer to each other near 0 than they would at equal distances.
        assert abs(names['inverse_mu_law'](names['mu_law'](np.float32(0.01))) - 0.01) < 4e-4

    def test_wav_files(self, module):
        names = module('wavenet/sounds.py')
        x = np.sin(np.arange(100) / 10).astype(np.float32)
        names['write_wav']('x.wav', x, 8000)
        np.testing.assert_allclose(names['read_wav']('x.wav'), x, atol=1e-4)

    def test_never_sees_the_future(self, module):
        model = module('wavenet/net.py')['WaveNet'](2, 3, 4, 6, 16)
        levels = np.random.randint(0, 16, (1, 40)).astype(np.int32)
        before = model.scores(levels).array
        assert before.shape == (1, 16, 40 - model.n_past)
        changed = levels.copy()
        changed[0, 30] = (changed[0, 30] + 1) % 16
        differs = (model.scores(changed).array != before).any(axis=(0, 1))
        first = 30 - model.n_past
        assert not differs[:first].any()
        assert differs[first]
        # and as far back as n_past says
        changed = levels.copy()
        changed[0, 0] = (changed[0, 0] + 1) % 16
        differs = (model.scores(changed).array != before).any(axis=(0, 1))
        assert differs[0] and not differs[1:].any()

    def test_generate(self, example, module):
        example('wavenet/train.py').main('--test', '-e', '1', '-b', '60', '--length', '60')
        read = module('wavenet/sounds.py')['read_wav']
        sounds = []
        for options in (['--test'], ['--static'], ['--seed', '1'], ['--input', 'generated.wav']):
            printed = example('wavenet/generate.py').main('-l', '20', *options)
            assert 'samples written to generated.wav' in printed
            sounds.append(read('generated.wav'))
        assert len(sounds[0]) == 33 + 20
        np.testing.assert_array_equal(sounds[0], sounds[1])
        assert (sounds[0] != sounds[2]).any()
        assert len(sounds[3]) == len(sounds[2]) + 20

    def test_of_a_folder(self, example, module):
        module('wavenet/sounds.py')['write_wav'](
            'x.wav', np.sin(np.arange(400) / 10), 8000)
        pathlib.Path('other').mkdir()
        small = ['-e', '1', '--length', '60', '--n-loop', '1', '--n-layer', '3',
                 '--residual-channels', '4', '--skip-channels', '4', '--quantize', '16']
        with pytest.raises(SystemExit, match='no .wav files in other'):
            example('wavenet/train.py').main('--dataset', 'other', *small)
        for i in range(3):
            pathlib.Path(f'other/{i}.wav').write_bytes(pathlib.Path('x.wav').read_bytes())
        assert 'told by the 9 before it' in example('wavenet/train.py').main(
            '--dataset', 'other', *small)


class TestActing:

    def test_cart_pole(self, module):
        env = module('reinforcement_learning/environments.py')['CartPole']()
        observation = env.reset()
        assert (observation.shape, observation.dtype) == ((4,), np.float32)
        # Pushed to the right all the time, the cart goes right and the pole falls left.
        steps, done = 0, False
        while not done:
            observation, reward, done = env.step(1)
            steps += 1
            assert reward == 1
        assert 5 < steps < 20
        assert observation[1] > 0 > observation[2]

    def test_pendulum_keeps_its_energy(self, module):
        env = module('reinforcement_learning/environments.py')['Pendulum']()
        env.reset()
        env.angle, env.turn = 0.3, 0.

        def energy():
            return env.turn ** 2 / 6 + 5 * np.cos(env.angle)

        before = energy()
        for _ in range(20):
            env.step(0., dt=0.001)
        assert energy() == pytest.approx(before, rel=1e-3)
        assert env.angle > 0.3
        _, reward, _ = env.step(100.)
        assert reward < 0

    def test_values_of_dqn(self, module):
        names = module('reinforcement_learning/dqn_cartpole.py')
        device = chainer.get_device('@numpy')
        buffer = module('reinforcement_learning/replay.py')['ReplayBuffer'](2)
        ones = np.ones(4, np.float32)
        for action, done in ((0, False), (0, False), (1, True)):
            buffer.append(ones, action, 1., done, ones)
        assert len(buffer) == 2
        batch = buffer.sample(2, device)

        def constant(values):
            def q(x):
                return chainer.Variable(np.tile(np.float32(values), (len(x), 1)))
            q.xp, q.cleargrads = np, lambda: None
            return q

        class Optimizer:
            def update(self):
                pass

        # Steps: one that goes on (1 + 0.5 * 8 = 5, or judged by the other network 1 + 0.5 * 4 = 3)
        # and the last one (1), against the values 10 and 2; the Huber loss is |d| - 1/2.
        q, target = constant([10., 2.]), constant([4., 8.])
        loss = names['update'](q, target, Optimizer(), batch, 0.5, False)
        assert loss == pytest.approx(((10 - 5 - 0.5) + 0.5 * 1) / 2)
        loss = names['update'](q, target, Optimizer(), batch, 0.5, True)
        assert loss == pytest.approx(((10 - 3 - 0.5) + 0.5 * 1) / 2)


def test_caffe_there_and_back(example):
    pytest.importorskip('google.protobuf')
    exported = example('caffe_export/export.py').main('--test', '-e', '3').splitlines()
    assert 'exported/chainer_model.caffemodel' in exported
    accuracy = float(exported[0].split()[1])
    assert accuracy > 0.8
    for options in ([], ['--static']):
        imported = example('caffe_import/evaluate_caffe_net.py').main('--test', *options)
        assert f'accuracy: {accuracy:.4f} of 360 pictures' in imported
    assert 'CaffeNet.forward: ' in imported


def test_caffe_with_pictures(example, module):
    pytest.importorskip('google.protobuf')
    pytest.importorskip('PIL')
    evaluate = module('caffe_import/evaluate_caffe_net.py')
    module('shared/pictures.py')['save'](
        'x.png', np.array([1, 0, 0.2])[:, None, None] * np.ones((3, 10, 12)))
    pathlib.Path('list.txt').write_text('x.png 3\n')
    args = evaluate['parse_args'](['--list', 'list.txt', '--size', '8', '--mean', '1,2,3'])
    (image, label), = evaluate['read_pictures'](args)
    assert (image.shape, label) == ((3, 8, 8), 3)
    np.testing.assert_array_equal(image[:, 0, 0], [51 - 1, 0 - 2, 255 - 3])


class TestImagenet:

    def test_mean_and_lists(self, example, module):
        pytest.importorskip('PIL')
        save = module('shared/pictures.py')['save']
        lines = []
        for i, name in enumerate(['cat/1.png', 'dog/1.PNG', 'dog/2.png', 'dog/notes.txt']):
            if name.endswith('txt'):
                pathlib.Path('data', name).write_text('no picture')
                continue
            save(f'data/{name}', np.full((3, 70, 70), i / 255 + 1e-3))
            lines.append(f'{name} {i}\n')
        pathlib.Path('list.txt').write_text(''.join(lines))
        printed = example('imagenet/compute_mean.py').main('data')
        assert 'mean.npy written, mean of each channel: [1. 1. 1.]' in printed
        open_pictures = module('imagenet/folders.py')['open_pictures']
        assert [int(label) for _, label in open_pictures('data', '.')] == [0, 1, 1]
        assert [int(label) for _, label in open_pictures('list.txt', 'data')] == [0, 1, 2]
        printed = example('imagenet/train_imagenet.py').main(
            'data', 'data', '--mean', 'mean.npy', '-e', '1', '--size', '67', '--width', '0.1',
            '--loaderjob', '0', '-b', '2')
        assert printed.startswith('3 pictures to train, 3 to validate; 2 classes')
        with pytest.raises(SystemExit, match='no folder of a class in empty'):
            pathlib.Path('empty').mkdir()
            open_pictures('empty', '.')

    def test_cut_out(self, module):
        names = module('imagenet/train_imagenet.py')
        pairs = [(np.arange(75, dtype=np.float32).reshape(3, 5, 5), 1)]
        data = names['PreprocessedDataset'](pairs, 0, 3, augment=False)
        np.testing.assert_array_equal(data[0][0][0] * 128, [[6, 7, 8], [11, 12, 13], [16, 17, 18]])
        data = names['PreprocessedDataset'](pairs, 0, 3, augment=True)
        assert len({data[0][0].tobytes() for _ in range(200)}) == 18  # 9 places, mirrored or not
        with pytest.raises(ValueError, match='smaller than 6 pixels'):
            names['PreprocessedDataset'](pairs, 0, 6, augment=False)[0]

    def test_resnet50_has_50_layers(self, module):
        model = module('imagenet/nets.py')['ResNet50'](7, 0.1)
        links = list(model.links())
        convolutions = [link for link in links if isinstance(link, chainer.links.Convolution2D)]
        # Those of the projections do not count.
        projections = sum('conv1x1r' in link.name for link in convolutions)
        assert len(convolutions) - projections + 1 == 50
        assert model(np.zeros((1, 3, 64, 64), np.float32)).shape == (1, 7)
