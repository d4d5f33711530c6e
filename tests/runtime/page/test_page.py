"""The report as a page: of a model that compiles, one that retraces, one that does not compile, and
of a check that fails; read as HTML, and in a browser where there is one."""
import collections
import contextlib
import html.parser
import io
import pathlib
import pickle
import re
import runpy

import numpy as np
import pytest
from browser import AVAILABLE, browser
from heard import warnings_heard

import chainer
import chainer.functions as F
import chainer.links as L
from chainer.graph_optimizations.static_graph import Reports


class MLP(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(6, 8)
            self.bn = L.BatchNormalization(8)
            self.l2 = L.Linear(8, 3)

    @chainer.static_graph
    def forward(self, x):
        h = F.relu(self.bn(self.l1(x)))  # <script>alert("&")</script>
        h = F.tanh(h) * 2 + 1
        return self.l2(h)


class Twice(chainer.FunctionNode):
    """Of the user's: no part of programs."""

    def forward(self, xs):
        return xs[0] * 2,

    def backward(self, indexes, gys):
        return gys[0] * 2,


class Opaque(chainer.Chain):
    @chainer.static_graph
    def forward(self, x):
        h = F.exp(x)
        total = float(h.array.sum())
        return Twice().apply((F.tanh(h) * total,))[0] + 1


def _train(model, inputs, profile=False):
    with chainer.using_config('static_profile', profile), chainer.using_config(
            'static_target', 'native'):
        for x in inputs:
            loss = F.sum(model(chainer.Variable(x)) ** 2)
            model.cleargrads()
            loss.backward()


def _inputs(*sizes, width=6):
    rng = np.random.RandomState(0)
    return [rng.randn(n, width).astype(np.float32) for n in sizes]


@pytest.fixture(scope='module')
def compiled():
    model = MLP()
    _train(model, _inputs(*[4] * 6))
    _train(model, _inputs(*[4] * 3), profile=True)
    with chainer.function_hooks.TimerHook():
        model(_inputs(4)[0])
    return model


@pytest.fixture(scope='module')
def retracing():
    model = MLP()
    for n in (4, 7):
        _train(model, _inputs(n, n, n))
    return model


@pytest.fixture(scope='module')
def opaque():
    model = Opaque()
    _train(model, _inputs(*[3] * 4))
    return model


@pytest.fixture(scope='module')
def distrusted():
    model = MLP()
    _train(model, _inputs(4, 4, 4))
    program = model.schedule_manager.programs[0]._schedule
    forward = program.forward
    program.forward = lambda arrays: _wrong(forward(arrays))
    with chainer.using_config('static_check', 'always'), warnings_heard() as log:
        _train(model, _inputs(4))
    assert 'another value than define-by-run' in ' '.join(log)
    return model


@pytest.fixture(scope='module')
def demo():
    path = pathlib.Path(__file__).parents[3] / 'examples/mnist/demo.py'
    with contextlib.ExitStack() as stack:
        stack.enter_context(pytest.MonkeyPatch.context()).syspath_prepend(str(path.parent))
        network = runpy.run_path(str(path), run_name='demo')['CompiledNetwork'](16)
    inputs = [(x, np.arange(4, dtype=np.int32)) for x in _inputs(*[4] * 5, width=64)]
    for x, t in inputs:
        network.cleargrads()
        network(x, t)[0].backward()
    with chainer.using_config('train', False), chainer.no_backprop_mode():
        for x, t in inputs:
            network(x, t)
    return network


class Page(html.parser.HTMLParser):
    """Checks that elements are closed in their order; collects texts by class, and links."""

    VOID = {'meta', 'br', 'input'}

    def __init__(self, text):
        super().__init__()
        self.open, self.texts, self.outside = [], collections.defaultdict(list), []
        self.tags = collections.Counter()
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags[tag] += 1
        if tag not in self.VOID:
            self.open.append((tag, (attrs.get('class') or '').split()))
        for name in ('src', 'href'):
            if not attrs.get(name, '#').startswith('#'):
                self.outside.append(attrs[name])

    def handle_startendtag(self, tag, attrs):
        self.tags[tag] += 1

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        for tag, classes in self.open:
            for name in (tag, *classes):
                self.texts[name].append(data)

    def text(self, name):
        return ''.join(self.texts[name])


def _page(model):
    text = model.schedule_manager.report().to_html()
    page = Page(text)
    assert not page.outside and 'http://' not in text.replace('http://www.w3.org/2000/svg', '')
    return page


def test_a_compiled_method(compiled):
    page, report = _page(compiled), compiled.schedule_manager.report()[0]
    assert page.text('hits') == str(report.hits) and report.hits > 4
    assert page.text('traces') == str(report.traces)
    assert 'def forward(self, x):' in page.text('events')
    assert 'MLP.forward(float32[4,6]), train' in page.text('summary')
    assert '<script>alert("&")</script>' in page.text('pane')  # as text
    for words in ('self.l2(h)', 'graph MLP.forward backward', 'def MLP_forward(', 'kernel0('):
        assert words in page.text('pane')
    assert 'LinearFunction' in page.text('bars') and 'kept memory' in page.text('h4')
    assert page.tags['template'] >= 5
    assert 'function hooks are registered' in page.text('stops')
    assert 'chainer.config.static_profile = True' in page.text('todo')


def test_a_method_that_retraces(retracing):
    page = _page(retracing)
    assert int(page.text('traces')) >= 2
    assert page.tags['details'] >= 2 and 'MLP.forward(float32[7,6]), train' in page.text('summary')


def test_a_method_with_functions_between_programs(opaque):
    page = _page(opaque)
    assert 'total = float(h.array.sum())' in page.text('stops')
    assert 'array of a Variable' in page.text('stops')
    assert 'values are read inside of the method' in page.text('todo')


def test_a_check_that_fails(distrusted):
    page = _page(distrusted)
    assert page.text('failed') == '1'
    assert 'another value than define-by-run' in page.text('distrusted')
    assert 'return self.l2(h)' in page.text('distrusted')


def _wrong(made):
    (first, *rest), kept = made
    return (first + 1, *rest), kept


def test_nothing_called_yet(tmp_path):
    assert 'No compiled method has been called yet' in Page(Reports([]).to_html()).text('empty')
    Reports([]).save(tmp_path / 'page.html', title='Mine')
    assert Page((tmp_path / 'page.html').read_text()).text('h1') == 'Mine'


def test_reports_that_are_pickled_are_tuples_of_numbers(compiled):
    reports = compiled.schedule_manager.report()
    assert pickle.loads(pickle.dumps(reports)) == tuple(reports)


def test_notebooks(compiled):
    reports = compiled.schedule_manager.report()
    assert re.match(r'<iframe style="[^"]*" srcdoc="&lt;!DOCTYPE', reports._repr_html_())
    program = compiled.schedule_manager.programs[0]
    assert program._repr_svg_() == program.optimized._repr_svg_()
    picture = Page(program._repr_svg_())
    assert picture.tags['svg'] == 1 and '%x0: f32[4,6] = argument' in picture.text('input')
    assert repr(program) == '<CompiledProgram MLP.forward(float32[4,6]), train>'
    assert repr(reports) == repr(reports[0]) == str(reports[0])
    printer = io.StringIO()
    printer.text = printer.write
    compiled._repr_pretty_(printer, False)
    assert '(l1): Linear(' in printer.getvalue()


def test_lines_are_no_farther_apart_than_calls_that_were_made(compiled):
    history = [*compiled.schedule_manager._sites.values()][0].ledger.history
    calls = [sample.calls for sample in history]
    assert calls == sorted(calls) and calls[-1] == 9  # that with a hook counts by itself
    assert all(a.seconds <= b.seconds for a, b in zip(history, history[1:], strict=False))


def test_the_extension_writes_while_training_goes_on(tmp_path):
    model = L.Classifier(MLP())
    optimizer = chainer.optimizers.SGD().setup(model)
    data = chainer.datasets.TupleDataset(_inputs(12)[0], np.arange(12, dtype=np.int32) % 3)
    iterator = chainer.iterators.SerialIterator(data, 4)
    updater = chainer.training.StandardUpdater(iterator, optimizer)
    trainer = chainer.training.Trainer(updater, (2, 'epoch'), tmp_path)
    trainer.extend(chainer.training.extensions.StaticReport('page.html', profile=True))
    trainer.run()
    page = Page((tmp_path / 'page.html').read_text())
    assert 'Classifier.forward' in page.text('h2') and 'LinearFunction' in page.text('bars')
    assert chainer.config.static_profile is False


def test_a_file_that_the_decorator_names(tmp_path):
    class Model(chainer.Chain):
        @chainer.static_graph(report=tmp_path / 'end.html')
        def forward(self, x):
            return F.exp(x) * 2

    model = Model()
    for x in _inputs(3, 3, 3):
        model(x)
    assert not (tmp_path / 'end.html').exists()
    del model
    assert 'Model.forward' in Page((tmp_path / 'end.html').read_text()).text('h2')
    with pytest.raises(TypeError, match='report must be the name of a file'):
        chainer.static_graph(report=3)
    with pytest.raises(ValueError, match='the name of no file'):
        chainer.static_graph(report='')


# -- in a browser


@pytest.fixture(scope='module')
def window():
    if not AVAILABLE:
        pytest.skip('there is no Chromium with its driver here')
    with contextlib.ExitStack() as stack:
        try:
            found = stack.enter_context(browser())
        except (OSError, KeyError) as error:
            pytest.skip(f'Chromium does not start here: {error}')
        yield found


def _text(window, query):
    return window.run('return document.querySelector(arguments[0]).innerText', query)


def _shown(window, model, tmp_path):
    model.schedule_manager.report().save(tmp_path / 'page.html')
    window.open(tmp_path / 'page.html')


def test_clicking_through_the_page(window, compiled, tmp_path):
    _shown(window, compiled, tmp_path)
    wide = window.run('return document.documentElement.scrollWidth <= innerWidth')
    assert wide, 'the page is wider than the window'
    window.click('.view .kernel text.n')
    details = _text(window, '.details')
    assert 'kernel 0' in details and 'f32[4,8]' in details and 'test_page.py:' in details
    for tab, words in (('program', 'def MLP_forward('), ('times', 'LinearFunction'),
                       ('memory', 'kept memory')):
        window.click(f'.tabs button[data-tab={tab}]')
        assert words in _text(window, f'.tab[data-tab={tab}]')
        shown = window.run("""
            return [...document.querySelectorAll('.program[open] .tab')]
                .filter((t) => !t.hidden).map((t) => t.dataset.tab);""")
        assert shown == [tab]
    hot = window.run('''
        const line = [...document.querySelectorAll('.ln[data-k]')].find(
            (l) => l.textContent.includes('tanh(h)'));
        line.dispatchEvent(new PointerEvent('pointerover', {bubbles: true}));
        return [...document.querySelectorAll('.hot')].map((l) => l.textContent);''')
    assert any('= tanh %' in line for line in hot) and any('F.tanh(h) * 2' in line for line in hot)
    assert not any('dot %x0' in line for line in hot)
    assert not window.errors()


def block(x):
    return F.sin(x) * 2


class Blocks(chainer.Chain):
    @chainer.static_graph
    def forward(self, x):
        h = block(x)  # one
        return block(h + 1)  # two


def test_lines_of_a_block_belong_to_those_that_call_it(window, tmp_path):
    model = Blocks()
    for x in _inputs(2, 2, 2):
        model(x)
    _shown(window, model, tmp_path)
    window.click('.tabs button[data-tab=program]')
    hot = """
        const [pane, words] = arguments, panes = [...document.querySelectorAll('.pane')];
        const lines = (k) => [...panes[k].querySelectorAll('.ln')].map((l) => [l, l.textContent]);
        const line = lines(pane).find(([l, text]) => text.includes(words))[0];
        line.dispatchEvent(new PointerEvent('pointerover', {bubbles: true}));
        return [0, 1].map((k) => lines(k).filter(([l]) => l.matches('.hot')).map(([l, t]) => t));"""
    code, graph = window.run(hot, 0, '# one')
    assert len(code) == 1 and [re.search('= (\\w+) ', line)[1] for line in graph] == [
        'sin', 'multiply']
    code, graph = window.run(hot, 0, 'F.sin(x) * 2')
    assert len(code) == 1 and len(graph) == 4
    code, graph = window.run(hot, 1, '= sin %x0')
    assert len(code) == 2 and '# one' in code[1]
    assert len(graph) == 2 and all('< test_page.py' in line for line in graph)


def test_stages_zoom_and_colours(window, compiled, tmp_path):
    _shown(window, compiled, tmp_path)
    texts = []
    for number in range(2):
        window.run('''const s = document.querySelector('.stage');
            s.value = [...s.options].filter((o) => !o.disabled)[arguments[0]].value;
            s.dispatchEvent(new Event('change'));''', number)
        texts.append(window.run("return document.querySelector('.view').textContent"))
    assert texts[0] != texts[1]
    box = "return document.querySelector('.view svg').getAttribute('viewBox')"
    before = window.run(box)
    window.click('.zoom[data-zoom="1.25"]')
    assert window.run(box) != before
    back = "return getComputedStyle(document.body).backgroundColor"
    light = window.run(back)
    window.click('#theme')
    assert window.run(back) != light


PAGES = {  # what a reader finds on each of them
    'demo': ['CompiledNetwork.forward', '0 failed', 'train', 'test'],
    'compiled': ['MLP.forward', 'function hooks are registered'],
    'retracing': ['float32[4,6]), train', 'float32[7,6]), train'],
    'opaque': ['the array of a Variable', 'values are read inside', ', from test_page.py:'],
    'distrusted': ['1 failed', '✗ 2', 'Please report it']}


@pytest.mark.parametrize('name', PAGES)
def test_every_page_is_read_and_clicked_through(window, request, tmp_path, name):
    window.look(1400, 1200, 'light')
    _shown(window, request.getfixturevalue(name), tmp_path)
    text = _text(window, 'main')
    assert all(words in text for words in PAGES[name]), text
    programs = window.run("return document.querySelectorAll('.program').length")
    for k in range(1, programs + 1):
        program = f'.program:nth-of-type({k})'
        if not window.run('return document.querySelector(arguments[0]).open', program):
            window.run('''const program = document.querySelector(arguments[0]);
                window.opened = new Promise((done) => program.addEventListener('toggle', done));
                ''', program)
            window.click(f'{program} summary')
            window.run('return window.opened.then(() => 0)')
        window.click(f'{program} .view text.n')
        assert _text(window, f'{program} .details').startswith('node\n%')
        for tab in ('program', 'times', 'memory', 'graph'):
            window.click(f'{program} .tabs button[data-tab={tab}]')
            assert _text(window, f'{program} .tab[data-tab={tab}]').strip()
    assert not window.errors()


@pytest.mark.parametrize('scheme', ['light', 'dark'])
@pytest.mark.parametrize('width', [1400, 600])
@pytest.mark.parametrize('name', PAGES)
def test_layout(window, request, tmp_path, name, width, scheme):
    window.look(width, 1000, scheme)
    _shown(window, request.getfixturevalue(name), tmp_path)
    for tab in ('graph', 'program', 'times', 'memory'):
        window.click(f'.tabs button[data-tab={tab}]')
        found = window.run((pathlib.Path(__file__).parent / 'layout.js').read_text())
        assert found.pop('texts') > 20
        assert found == {'wide': 0, 'cut': [], 'outside': [], 'overlapping': [], 'pale': []}, tab
