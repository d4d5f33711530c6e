"""Extensions: pictures, notebooks, log files, errors. (Numbers are compared in test_golden.py.)"""
import copy
import io
import json
import os
import pathlib
import shutil
import sys
import types
import warnings

import numpy as np
import pytest

import chainer
import chainer.functions as F
from chainer import iterators, optimizers, serializers, training
from chainer.training import extensions
from chainer.training.extensions import _matplotlib, util

GOLDEN = pathlib.Path(__file__).parents[2] / 'golden'
sys.path.insert(0, str(GOLDEN))

from training_cases import Model, make_data, make_trainer, report_values  # noqa: E402


def model_of(trainer):
    return trainer.updater.get_optimizer('main').target


class TestEvaluator:

    def make(self, model=None, **kwargs):
        iterator = iterators.SerialIterator(make_data(5), 2, repeat=False, shuffle=False)
        return extensions.Evaluator(iterator, model or Model(), **kwargs)

    def test_modes(self):
        seen = []

        class Watching(Model):
            def forward(self, x, y):
                seen.append((chainer.config.train, chainer.config.enable_backprop))
                return super().forward(x, y)

        self.make(Watching())()
        assert seen == [(False, False)] * 3 and chainer.config.train

    def test_hook_function_and_converter(self):
        calls = []

        def function(**kwargs):
            calls.append(sorted(kwargs))
            chainer.report({'free': 2.})

        evaluator = self.make(
            eval_hook=calls.append, eval_func=function,
            converter=lambda batch, device: {'a': len(batch), 'b': device}, device=-1)
        assert evaluator() == {'free': 2.}
        assert calls == [evaluator, ['a', 'b'], ['a', 'b'], ['a', 'b']]

    def test_single_array(self):
        seen = []
        evaluator = self.make(eval_func=seen.append, converter=lambda batch, device: len(batch))
        evaluator()
        assert seen == [2, 2, 1]

    def test_iterator_without_reset_is_copied(self):
        class Once:
            def __init__(self):
                self.left = 2

            def __iter__(self):
                return self

            def __next__(self):
                if not self.left:
                    raise StopIteration
                self.left -= 1
                return [make_data(1)[0]]

        evaluator = extensions.Evaluator(Once(), Model())
        assert evaluator() == evaluator() and len(evaluator()) == 1

    def test_getters_and_finalize(self):
        evaluator = self.make()
        finalized = []
        evaluator.get_iterator('main').finalize = lambda: finalized.append(1)
        assert evaluator.get_all_iterators() == {'main': evaluator.get_iterator('main')}
        assert evaluator.get_all_targets() == {'main': evaluator.get_target('main')}
        evaluator.finalize()
        assert finalized == [1]

    def test_repeating_iterator_is_warned_of(self):
        with pytest.warns(UserWarning, match="iterator 'main' of an Evaluator repeats its dataset"):
            extensions.Evaluator(iterators.SerialIterator([1], 1), Model())

    def test_progress_bar(self, capsys):
        self.make(progress_bar=True)()
        text = capsys.readouterr().out.splitlines()
        assert text[0].startswith('validation 40.00%, 1 batches,') and 'inf' not in text[0]
        assert text[-1].startswith('validation 100.00%, 3 batches,')


def test_nan_and_infinity(tmp_path):
    for value in np.nan, np.inf:
        trainer = make_trainer(str(tmp_path))
        trainer.extend(extensions.FailOnNonNumber())
        model = model_of(trainer)

        @training.make_extension(priority=500)
        def spoil(trainer, model=model, value=value):
            if trainer.updater.iteration == 2:
                model.l.W.array[0, 1] = value

        trainer.extend(spoil)
        with pytest.raises(RuntimeError, match="optimizer 'main' diverge: /l/W has .*iteration 2"):
            trainer.run(show_loop_exception_msg=False)


def test_micro_average_waits_for_values(tmp_path):
    trainer = make_trainer(str(tmp_path), (4, 'iteration'))
    trainer.extend(extensions.MicroAverage('a', 'b', 'ratio', (1, 'iteration')))

    @training.make_extension(priority=300)
    def report(trainer):
        if trainer.updater.iteration % 2 == 0:
            chainer.report({'a': chainer.Variable(np.array(3.)), 'b': np.float32(4)})

    seen = []
    trainer.extend(report)
    trainer.extend(lambda t: seen.append(t.observation.get('ratio')), name='see')
    trainer.run()
    assert seen == [None, 0.75, None, 0.75]


class TestParameterStatistics:

    def report(self, tmp_path, links, **kwargs):
        trainer = make_trainer(str(tmp_path), (1, 'iteration'))
        trainer.extend(extensions.ParameterStatistics(
            links(model_of(trainer)), trigger=(1, 'iteration'), **kwargs))
        seen = {}
        trainer.extend(lambda t: seen.update(t.observation), name='see')
        trainer.run()
        del seen['main/loss']
        return seen

    def test_own_statistics(self, tmp_path):
        def links(model):
            model.name = 'net'
            return [model, model.l]

        seen = self.report(tmp_path, links, report_grads=False, prefix='p', statistics={
            'sum': np.sum, 'both': lambda x: (x.min(), x.max())})
        assert sorted(seen) == sorted(
            f'p/{link}/{param}/data/{name}' for link, param in (
                ('net', 'l/W'), ('net', 'l/b'), ('l', 'W'), ('l', 'b'))
            for name in ('sum', 'both/0', 'both/1'))
        assert seen['p/l/W/data/sum'] == pytest.approx(
            seen['p/l/W/data/both/0'] + seen['p/l/W/data/both/1'])

    def test_registered_statistics(self, tmp_path):
        extension = extensions.ParameterStatistics(chainer.Link(), statistics=None)
        extension.register_statistics('size', len)
        assert dict(extension._describe(np.zeros(3), chainer.Link(), '/w', 'data')) == {
            'None/w/data/size': 3}
        assert 'size' not in extensions.ParameterStatistics.default_statistics

    def test_nan(self, tmp_path):
        def links(model):
            model.name = 'net'
            model.l.b.array[...] = np.nan
            return model

        seen = self.report(tmp_path, links, skip_nan_params=True, report_grads=False)
        assert len(seen) == 12 and all(value != value for value in seen.values())


class TestDumpGraph:

    def test_once(self, tmp_path):
        flags = []
        trainer = make_trainer(str(tmp_path), (3, 'iteration'))
        trainer.extend(extensions.dump_graph('main/loss'))
        trainer.extend(lambda t: flags.append(chainer.config.keep_graph_on_report), name='see')
        trainer.run()
        assert flags == [False, False, False]
        text = (tmp_path / 'cg.dot').read_text()
        assert text.startswith('digraph') and 'MeanSquaredError' in text
        assert 'fillcolor="#6495ED"' in text and 'shape="octagon"' in text
        assert (tmp_path / 'cg.png').exists() == (shutil.which('dot') is not None)

    def test_names_and_styles(self, tmp_path):
        trainer = make_trainer(str(tmp_path), (1, 'iteration'))
        for keyword in 'out_name', 'filename':
            trainer.extend(extensions.DumpGraph(
                'main/loss', function_style={'shape': 'star'}, **{keyword: keyword}))
        trainer.run()
        assert 'shape="star"' in (tmp_path / 'out_name').read_text()

    def test_errors(self, tmp_path):
        for name, error, message in (
                ('main/x', KeyError, "'main/x' was not reported; these were: a, b, big"),
                ('a', TypeError, "root value is not a Variable: 'a' is of type float")):
            trainer = make_trainer(str(tmp_path))
            trainer.extend(report_values)
            report_values.name = None
            trainer.extend(extensions.dump_graph(name))
            with pytest.raises(error, match=message):
                trainer.run(show_loop_exception_msg=False)
            assert not chainer.config.keep_graph_on_report

    def test_not_again_after_resuming(self, tmp_path):
        trainer = make_trainer(str(tmp_path), (1, 'iteration'))
        trainer.extend(extensions.dump_graph('main/loss'))
        trainer.run()
        serializers.save_npz(tmp_path / 'state', trainer)
        os.remove(tmp_path / 'cg.dot')
        other = make_trainer(str(tmp_path), (3, 'iteration'))
        other.extend(extensions.dump_graph('main/loss'))
        serializers.load_npz(tmp_path / 'state', other)
        other.run()
        assert not (tmp_path / 'cg.dot').exists()


def test_unchain_variables(tmp_path):
    trainer = make_trainer(str(tmp_path), (2, 'iteration'))
    creators = []

    def see(trainer):
        creators.append(trainer.observation['main/loss'].creator is None)

    with chainer.using_config('keep_graph_on_report', True):
        trainer.extend(see, priority=1)
        trainer.extend(extensions.unchain_variables())
        trainer.extend(see, name='after', priority=-1)
        trainer.run()
    assert creators == [False, True] * 2


class TestLogReport:

    def test_names_of_the_file(self, tmp_path):
        trainer = make_trainer(str(tmp_path), (2, 'iteration'))
        for i, kwargs in enumerate([{'log_name': 'a'}, {'filename': 'b'}, {'log_name': None}]):
            trainer.extend(extensions.LogReport(trigger=(1, 'iteration'), **kwargs), name=str(i))
        trainer.run()
        assert sorted(os.listdir(tmp_path)) == ['a', 'b']

    def test_what_derives_from_it_may_begin_an_interval(self, tmp_path):
        class Mine(extensions.LogReport):
            def __call__(self, trainer):
                super().__call__(trainer)
                self._init_summary()
                assert not self._summary.compute_mean()

        trainer = make_trainer(str(tmp_path), (4, 'iteration'))
        trainer.extend(Mine(trigger=(2, 'iteration')), name='log')
        trainer.run()
        assert len(trainer.get_extension('log').log) == 2

    def test_observe_lr_of_an_optimizer_without(self, tmp_path):
        trainer = make_trainer(str(tmp_path), optimizer=optimizers.AdaDelta())
        trainer.extend(extensions.observe_lr())
        with pytest.raises(AttributeError, match='lr'):
            trainer.run(show_loop_exception_msg=False)


class TestPrintReport:

    def test_missing_log(self, tmp_path):
        trainer = make_trainer(str(tmp_path))
        trainer.extend(extensions.PrintReport(['epoch']))
        with pytest.raises(ValueError, match='extension LogReport not found'):
            trainer.run(show_loop_exception_msg=False)

    def test_text_put_in_by_postprocessing(self, tmp_path):
        trainer = make_trainer(str(tmp_path), (1, 'iteration'))
        stream = io.StringIO()
        trainer.extend(extensions.PrintReport(['note', 'iteration'], extensions.LogReport(
            trigger=(1, 'iteration'), postprocess=lambda entry: entry.update(note='<ok>')),
            stream))
        trainer.run()
        assert stream.getvalue() == (
            'note        iteration \n\033[J<ok>        1           \n')

    def test_state_of_a_log_of_its_own(self, tmp_path):
        def make(stop):
            trainer = make_trainer(str(tmp_path), (stop, 'iteration'))
            trainer.extend(extensions.PrintReport(
                ['iteration'], extensions.LogReport(trigger=(1, 'iteration')), io.StringIO()))
            return trainer

        first = make(2)
        first.run()
        serializers.save_npz(tmp_path / 'state', first)
        second = make(3)
        serializers.load_npz(tmp_path / 'state', second)
        second.run()
        text = second.get_extension('PrintReport')._out.getvalue()
        assert [line.strip('\033[J ') for line in text.splitlines()] == [
            'iteration', '1', '2', '3']  # the table so far is shown again


class FakeDisplay:
    """What a notebook's cell shows."""

    def __init__(self):
        self.shown = []

    def display(self, data, raw, display_id):
        assert raw and display_id
        self.shown.append([data])
        handle = types.SimpleNamespace()
        handle.update = lambda data, raw, cell=self.shown[-1]: cell.append(data)
        return handle


@pytest.fixture
def notebook(monkeypatch):
    fake = FakeDisplay()
    module = types.ModuleType('IPython')
    module.display = fake
    monkeypatch.setitem(sys.modules, 'IPython', module)

    class OutStream(io.StringIO):
        pass

    OutStream.__module__ = 'ipykernel.iostream'
    return fake, OutStream()


def test_notebook(notebook, tmp_path):
    fake, stream = notebook
    trainer = make_trainer(str(tmp_path), (3, 'iteration'))
    trainer.extend(extensions.LogReport(trigger=(1, 'iteration')))
    trainer.extend(extensions.PrintReport(['iteration', 'main/loss'], out=stream))
    trainer.extend(extensions.ProgressBar(update_interval=1, bar_length=10, out=stream))
    trainer.run()
    table, bar = fake.shown
    assert stream.getvalue() == '' and len(table) == len(bar) == 3
    assert table[-1]['text/html'].startswith(
        '<table><tr><th>iteration</th><th>main/loss</th></tr><tr><td>1</td>')
    assert table[-1]['text/html'].count('<tr>') == 4
    assert table[-1]['text/plain'].count('\n') == 4
    assert '     total [######....] 66.67%\n' in bar[1]['text/plain']


class TestProgressBar:

    def run(self, tmp_path, stop=(4, 'iteration'), **kwargs):
        out = io.StringIO()
        trainer = make_trainer(str(tmp_path), stop)
        if callable(stop):
            trainer.stop_trigger = stop
        trainer.extend(extensions.ProgressBar(update_interval=1, out=out, **kwargs))
        trainer.run()
        return out.getvalue()

    def test_log_file(self, tmp_path, monkeypatch):
        clock = iter(range(0, 1000, 4))  # ten seconds between lines
        monkeypatch.setattr(util.time, 'monotonic', lambda: next(clock))
        lines = self.run(tmp_path, (8, 'iteration')).splitlines()
        iterations = [int(line.split(', ')[2].split()[0]) for line in lines]
        assert iterations == [1, 4, 7, 8]
        assert lines[1].startswith(
            'total 50.00%, this epoch  0.00%, 4 iter, 2 epoch / 8 iterations, ')
        assert '\033' not in ''.join(lines) and '#' not in ''.join(lines)

    def test_length_that_is_not_known(self, tmp_path):
        text = self.run(tmp_path, lambda trainer: trainer.updater.iteration >= 2)
        first = text.splitlines()[0]
        assert first.startswith('this epoch 50.00%, 1 iter, 0 epoch,') and 'inf' not in first

    def test_longer_than_said(self, tmp_path):
        text = self.run(tmp_path, training_length=(2, 'iteration'))
        assert text.splitlines()[-1].startswith('total 100.00%')

    def test_remaining_time(self):
        assert util.remaining(30, 0.5) == '0:01:00'
        assert util.remaining(-1, 1) == '0:00:00' and util.remaining(1, 0) == 'unknown'
        assert util.remaining(1, float('inf')) == '0:00:00'

    def test_first_speed_is_that_since_the_beginning(self, monkeypatch):
        clock = iter([0., 2.])
        monkeypatch.setattr(util.time, 'perf_counter', lambda: next(clock))
        bar = util.ProgressBar(out=io.StringIO())
        bar.begin(100, 5.)
        assert bar.update_speed(103, 5.5) == (1.5, .25)

    def test_speed_is_of_the_last_hundred_calls(self, monkeypatch):
        clock = iter([*range(200), 10 ** 6])
        monkeypatch.setattr(util.time, 'perf_counter', lambda: float(next(clock)))
        bar = util.ProgressBar(out=io.StringIO())
        assert bar.update_speed(0, 0.) == (float('inf'), float('inf'))
        for i in range(1, 200):
            speed = bar.update_speed(3 * i, i / 2)
        assert speed == (3., 0.5)
        with pytest.raises(NotImplementedError, match='must define get_lines'):
            bar.update()

    def test_nothing_shown_nothing_removed(self, tmp_path):
        out = io.StringIO()
        out.isatty = lambda: True
        trainer = make_trainer(str(tmp_path), (3, 'iteration'))
        trainer.extend(extensions.ProgressBar(out=out))
        trainer.run()
        assert out.getvalue() == ''


@pytest.fixture
def figures(monkeypatch):
    """The figures that are drawn, with what is drawn."""
    pytest.importorskip('matplotlib')
    drawn = []
    monkeypatch.setattr(_matplotlib.Headless, 'close', staticmethod(drawn.append))
    return drawn


class TestPlotReport:

    def test_lines(self, tmp_path, figures):
        trainer = make_trainer(str(tmp_path), (6, 'iteration'))
        given = []
        trainer.extend(report_values)
        report_values.name = None
        trainer.extend(extensions.PlotReport(
            ['a', 'sometimes', 'missing'], 'epoch', (2, 'iteration'),
            lambda figure, axes, means: given.append((figure, axes, means)), 'p_{iteration}.png',
            marker='o', grid=False))
        trainer.run()
        assert sorted(os.listdir(tmp_path)) == ['p_2.png', 'p_4.png', 'p_6.png']
        for name in os.listdir(tmp_path):
            assert (tmp_path / name).read_bytes().startswith(b'\x89PNG')
        axes, = figures[-1].axes
        assert [line.get_label() for line in axes.lines] == ['a', 'sometimes']
        np.testing.assert_array_equal(axes.lines[0].get_xydata(), [[1, 1.5], [2, 3.5], [3, 5.5]])
        assert axes.lines[0].get_marker() == 'o' and axes.get_xlabel() == 'epoch'
        assert [text.get_text() for text in axes.get_legend().get_texts()] == ['a', 'sometimes']
        assert given[0][0] is figures[0] and given[0][1] is figures[0].axes[0]
        assert given[0][2] == {'a': 1.5, 'sometimes': 1 / 3., 'epoch': 1, 'iteration': 2}

    def test_names_of_the_file(self, tmp_path, figures):
        trainer = make_trainer(str(tmp_path), (1, 'iteration'))
        for i, kwargs in enumerate([{}, {'file_name': 'a.svg'}, {'filename': 'b.pdf'}]):
            trainer.extend(extensions.PlotReport(
                'main/loss', trigger=(1, 'iteration'), **kwargs), name=str(i))
        trainer.run()
        assert sorted(os.listdir(tmp_path)) == ['a.svg', 'b.pdf', 'plot.png']
        assert '<svg' in (tmp_path / 'a.svg').read_text()

    def test_nothing_to_plot(self, tmp_path, figures):
        trainer = make_trainer(str(tmp_path), (2, 'iteration'))
        trainer.extend(extensions.PlotReport(['missing'], trigger=(1, 'iteration')))
        trainer.extend(extensions.PlotReport(['main/loss'], 'missing', (1, 'iteration')))
        trainer.extend(extensions.PlotReport(None, trigger=(1, 'iteration')))
        trainer.run()
        assert figures == [] and os.listdir(tmp_path) == []

    @pytest.mark.parametrize('make', [
        lambda model: extensions.PlotReport(['main/loss'], trigger=(1, 'iteration')),
        lambda model: extensions.VariableStatisticsPlot(model, trigger=(1, 'iteration'))])
    def test_without_matplotlib(self, tmp_path, monkeypatch, make):
        monkeypatch.setattr(_matplotlib, 'installed', False)
        trainer = make_trainer(str(tmp_path), (3, 'iteration'))
        trainer.extend(make(model_of(trainer)))
        with pytest.warns(UserWarning, match='matplotlib is not installed') as caught:
            trainer.run()
        assert len(caught) == 1 and os.listdir(tmp_path) == []

    def test_available(self):
        pytest.importorskip('matplotlib')
        with warnings.catch_warnings():
            warnings.simplefilter('error')
            assert extensions.PlotReport.available()
            assert extensions.VariableStatisticsPlot.available()


class TestVariableStatisticsPlot:

    def run(self, tmp_path, **kwargs):
        trainer = make_trainer(str(tmp_path), (4, 'iteration'))
        extension = extensions.VariableStatisticsPlot(
            model_of(trainer), trigger=(2, 'iteration'), **kwargs)
        values = []

        @training.make_extension(priority=1000)
        def see(trainer):
            values.append([(p.array.ravel().copy(), p.grad.ravel().copy())
                           for p in model_of(trainer).params()])

        trainer.extend(see)
        trainer.extend(extension)
        trainer.run()
        return extension, values

    def test_statistics_and_picture(self, tmp_path, figures):
        extension, values = self.run(tmp_path, percentile_sigmas=(75, 0, 25), marker='x')
        for i, (sample, variables) in enumerate(zip(extension._samples, values, strict=True)):
            expected = [i + 1]
            for arrays in zip(*variables, strict=True):
                expected.extend(np.mean([
                    [a.mean(), a.std(), *np.percentile(a, [0, 25, 75])] for a in arrays], axis=0))
            np.testing.assert_allclose(sample, expected, rtol=1e-5)
        assert os.listdir(tmp_path) == ['statistics.png'] and len(figures) == 2
        assert [ax.get_title() for ax in figures[1].axes] == ['data', 'grad', '', '']
        top, bottom = figures[1].axes[1], figures[1].axes[3]
        np.testing.assert_allclose(
            top.lines[0].get_xydata(), np.array(extension._samples)[:, [0, 6]])
        assert len(bottom.collections) == 1 and len(bottom.lines) == 1
        assert [t.get_text() for t in bottom.get_legend().get_texts()] == ['0 to 75 %', '25 %']

    @pytest.mark.parametrize('kwargs, n_axes, labels', [
        ({'report_grad': False, 'plot_mean': False, 'percentile_sigmas': ()}, 1, ['std']),
        ({'report_data': False, 'plot_std': False, 'percentile_sigmas': ()}, 1, ['mean']),
        ({'plot_mean': False, 'plot_std': False, 'percentile_sigmas': 50}, 2, ['50 %']),
        ({'filename': 'x.svg', 'figsize': (3, 3), 'grid': False}, 4, ['mean', 'mean ± std'])])
    def test_parts(self, tmp_path, figures, kwargs, n_axes, labels):
        self.run(tmp_path, **kwargs)
        axes = figures[-1].axes
        assert len(axes) == n_axes
        last = axes[len({ax.get_position().x0 for ax in axes}) - 1]
        assert [text.get_text() for text in last.get_legend().get_texts()] == labels

    def test_with_pyplot(self, tmp_path):
        matplotlib = pytest.importorskip('matplotlib')
        matplotlib.use('Agg')
        from matplotlib import pyplot
        extension, _ = self.run(tmp_path)
        before = pyplot.get_fignums()
        extension.save_plot_using_module(str(tmp_path / 'own.png'), pyplot)
        assert (tmp_path / 'own.png').stat().st_size > 1000 and pyplot.get_fignums() == before

    def test_sample_of_a_long_training(self):
        variable = chainer.Parameter(np.zeros(1, np.float32))
        extension = extensions.VariableStatisticsPlot(variable, max_sample_size=400)
        for i in range(4000):
            extension._keep(np.array([i]))
        kept = np.sort([int(sample[0]) for sample in extension._samples])
        assert len(set(kept)) == 400
        # 400 of 4000 at random: 100 +- 8.2 in each quarter
        assert all(70 < n < 130 for n in np.histogram(kept, 4, (0, 4000))[0])

    def test_no_gradients_yet(self, tmp_path):
        pytest.importorskip('matplotlib')
        extension = extensions.VariableStatisticsPlot(
            [chainer.Parameter(np.ones(2, np.float32)), chainer.Parameter()])
        assert extension._describe('data')[0] == 1
        assert np.isnan(extension._describe('grad')).all()

    @pytest.mark.parametrize('targets, kwargs, error, message', [
        ([], {}, ValueError, 'Need at least one variable'),
        (3, {}, TypeError, 'must be variables or links, not int'),
        (Model(), {'report_data': False, 'report_grad': False}, ValueError, 'Nothing to plot'),
        (Model(), {'plot_mean': False, 'plot_std': False, 'percentile_sigmas': ()}, ValueError,
         'Nothing to plot')])
    def test_errors(self, targets, kwargs, error, message):
        with pytest.raises(error, match=message):
            extensions.VariableStatisticsPlot(targets, **kwargs)


@pytest.mark.parametrize('make, message', [
    (lambda: extensions.ExponentialShift('lr', -1), 'does not support negative rate'),
    (lambda: extensions.InverseShift('lr', -1, 1), 'does not support negative gamma')])
def test_shifts_that_make_no_sense(make, message):
    with pytest.raises(ValueError, match=message):
        make()


class Plain:
    """Stands for an optimizer, and for the trainer, which has its updater."""

    updater = None

    def __init__(self, x):
        self.x = x


@pytest.mark.parametrize('make, start, values', [  # the values of 5.4 and 7.8.1
    (lambda o: extensions.ExponentialShift('x', .5, target=-1.2, optimizer=o), -2,
     [-2, -1.2, -1.2]),
    (lambda o: extensions.ExponentialShift('x', 2., target=-3., optimizer=o), -1, [-1, -2, -3]),
    (lambda o: extensions.ExponentialShift('x', 1.5, target=-1.2, optimizer=o), 1, [1, 1.5, 2.25]),
    (lambda o: extensions.ExponentialShift('x', .5, target=1.2, optimizer=o), 2, [2, 1.2, 1.2]),
    (lambda o: extensions.StepShift('x', .5, 1, target=-1.2, optimizer=o), -2, [-2, -1.2, -1.2]),
    (lambda o: extensions.StepShift('x', 2., 1, target=-3., optimizer=o), -1, [-1, -2, -3]),
    (lambda o: extensions.InverseShift('x', 1., 1., target=-1.2, optimizer=o), -2,
     [-2, -1.2, -1.2]),
    (lambda o: extensions.InverseShift('x', 1., -1., target=-1.2, optimizer=o), -1,
     [-1, -1.2, -1.2]),
    (lambda o: extensions.PolynomialShift('x', 1., 4, target=-1.2, optimizer=o), -2,
     [-2, -1.5, -1.2]),
])
def test_shifts_of_negative_values(make, start, values):
    optimizer = Plain(start)
    shift = make(optimizer)
    shift.initialize(optimizer)
    seen = [optimizer.x]
    for _ in values[1:]:
        shift(optimizer)
        seen.append(optimizer.x)
    assert seen == values


@pytest.mark.parametrize('calls', [1, 3, 4, 6, 8])
@pytest.mark.parametrize('make, saved', [  # what Chainer 7.8.1 saves besides _t
    (lambda o: extensions.MultistepShift('x', .5, [2, 4, 7], 2., o), {'_current_step'}),
    (lambda o: extensions.MultistepShift('x', .5, [2, 4, 7], None, o), {'_current_step'}),
    (lambda o: extensions.WarmupShift('x', .25, 4, 1., o), set()),
    (lambda o: extensions.ExponentialShift('x', .5, optimizer=o), {'_last_value'}),
    (lambda o: extensions.StepShift('x', .5, 3, optimizer=o), {'_last_value'}),
    (lambda o: extensions.InverseShift('x', .5, 1, optimizer=o), {'_last_value'}),
    (lambda o: extensions.PolynomialShift('x', 2, 10, optimizer=o), {'_last_value'}),
    (lambda o: extensions.LinearShift('x', (1, 2), (2, 6), optimizer=o), {'_last_value'}),
])
def test_shifts_go_on_from_a_snapshot_of_chainer_7(make, saved, calls):
    def run(n, state=None):
        optimizer = Plain(1.)
        shift = make(optimizer)
        if state is not None:
            shift.serialize(serializers.NpzDeserializer(state))
        shift.initialize(optimizer)
        values = [optimizer.x]
        for _ in range(n):
            shift(optimizer)
            values.append(optimizer.x)
        return shift, values

    shift, _ = run(calls)
    state = {}
    shift.serialize(serializers.DictionarySerializer(state))
    # Whether all that it asks for is there, in ours.
    assert state.keys() >= {'_t', *saved}
    of_7 = {'_t': np.asarray(calls), **{key: state[key] for key in saved}}
    assert run(9 - calls, of_7)[1] == run(9)[1][calls:]
    assert run(9 - calls, state)[1] == run(9)[1][calls:]


def test_shift_of_another_optimizer(tmp_path):
    trainer = make_trainer(str(tmp_path), (3, 'iteration'))
    other = optimizers.SGD(1.)
    trainer.extend(extensions.ExponentialShift('lr', 0.5, optimizer=other))
    trainer.run()
    assert other.lr == 0.125 and trainer.updater.get_optimizer('main').lr == 0.1


def test_shift_leaves_the_attribute_alone_after_warming_up(tmp_path):
    trainer = make_trainer(str(tmp_path), (5, 'iteration'))
    optimizer = trainer.updater.get_optimizer('main')
    trainer.extend(extensions.WarmupShift('lr', 0.01, 2, 0.5))

    def change(trainer):
        if trainer.updater.iteration == 3:
            optimizer.lr = 7

    trainer.extend(change)
    trainer.run()
    assert optimizer.lr == 7


def test_documented_notation():
    """The example of the documentation of MicroAverage."""
    class MyModel(chainer.Link):
        def __call__(self, x, y):
            loss = F.softmax_cross_entropy(x, y)
            correct = (x.data.argmax(axis=1) == y.data).sum()
            chainer.report({'correct': correct, 'total': len(y.data)}, self)
            return loss

    reporter = chainer.Reporter()
    model = MyModel()
    reporter.add_observer('main', model)
    observation = {}
    with reporter.scope(observation):
        model(chainer.Variable(np.eye(3, dtype=np.float32)),
              chainer.Variable(np.array([0, 1, 1], np.int32)))
    trainer = types.SimpleNamespace(
        observation=copy.copy(observation),
        updater=types.SimpleNamespace(iteration=1, epoch_detail=1.))
    extensions.MicroAverage('main/correct', 'main/total', 'main/accuracy')(trainer)
    assert trainer.observation['main/accuracy'] == 2 / 3
    assert json.dumps(trainer.observation['main/accuracy'])


@pytest.mark.parametrize('name', ['Adam', 'AdamW', 'AMSGrad', 'AdaBound', 'AMSBound', 'SGD'])
def test_observe_lr_warns_of_nothing(name):
    optimizer = getattr(chainer.optimizers, name)().setup(chainer.Link())
    optimizer.t = 3

    class Trainer:
        observation = {}

        class updater:
            @staticmethod
            def get_optimizer(name):
                return optimizer

    with warnings.catch_warnings():
        warnings.simplefilter('error')
        extensions.observe_lr()(Trainer)
    expected = optimizer.lr if name == 'SGD' else optimizer.alpha_t
    assert Trainer.observation == {'lr': expected}


@pytest.mark.parametrize('trigger', [
    3, 1.5, '10 epochs', 'epoch', (3,), (1, 'epoch', 2), {}, {'epoch': 1}, object()])
@pytest.mark.parametrize('use', [
    training.get_trigger, lambda trigger: extensions.LogReport(trigger=trigger),
    lambda trigger: training.triggers.MinValueTrigger('x', trigger=trigger),
    lambda trigger: training.triggers.EarlyStoppingTrigger(check_trigger=trigger)])
def test_what_is_no_trigger(use, trigger):
    with pytest.raises(TypeError, match=r"a trigger is a pair such as \(3, 'epoch'\)"):
        use(trigger)


def test_period_that_is_no_number():
    with pytest.raises(TypeError, match="period of a trigger must be a number, not '3'"):
        training.get_trigger(('3', 'epoch'))
    assert training.get_trigger([np.int64(3), 'epoch']).period == 3


@pytest.mark.parametrize(('extension', 'message'), [
    (3, 'which 3 cannot be'), ('LogReport', "which 'LogReport' cannot be"),
    (None, 'which None cannot be'), ((1, 'epoch'), 'cannot be'),
    (extensions.LogReport, r'LogReport is a class of extensions.*LogReport\(\.\.\.\)')])
def test_what_is_no_extension(tmp_path, extension, message):
    for settings in {}, {'name': 'x'}:
        with pytest.raises(TypeError, match=message):
            make_trainer(str(tmp_path)).extend(extension, **settings)


class OnlyWrites:
    """The least that a stream may be."""

    def __init__(self):
        self.text = ''

    def write(self, text):
        self.text += text


@pytest.mark.parametrize('make, text', [
    (lambda out: extensions.PrintReport(['iteration'], out=out),
     'iteration \n\x1b[J1           \n\x1b[J2           \n'),
    (lambda out: extensions.ProgressBar(update_interval=1, out=out), 'total'),
])
def test_streams_that_cannot_be_flushed(tmp_path, make, text):
    trainer = make_trainer(str(tmp_path), (2, 'iteration'))
    trainer.extend(extensions.LogReport(trigger=(1, 'iteration')))
    stream = OnlyWrites()
    trainer.extend(make(stream))
    trainer.run()
    assert text in stream.text


def test_attributes_of_made_extensions():
    def hook(*args):
        pass

    made = training.make_extension()(lambda trainer: None)
    assert made.finalize is made.initialize is made.on_error is None
    made = training.make_extension(
        finalizer=hook, initializer=hook, on_error=hook)(lambda trainer: None)
    assert made.finalize is made.initialize is made.on_error is hook
