"""What the report as a page costs, and what timing the parts of programs does.

    .venv/bin/python benchmarks/bench_report.py      (writes benchmarks/results/report.md)

CPU time of one thread. Plain and timed steps take turns; medians.
"""
import os
import pathlib
import platform
import statistics
import time

for _name in ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS'):
    os.environ[_name] = '1'  # before NumPy is there

import numpy as np  # noqa: E402

import chainer  # noqa: E402
import chainer.functions as F  # noqa: E402
import chainer.links as L  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent


class Small(chainer.Chain):
    """The network of the demo."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1, self.l2, self.l3 = L.Linear(64, 128), L.Linear(128, 128), L.Linear(128, 10)

    @chainer.static_graph
    def forward(self, x, t):
        h = F.relu(self.l2(F.relu(self.l1(x))))
        return F.softmax_cross_entropy(self.l3(h), t)


class ResNet50(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.net = L.ResNet50Layers(pretrained_model=None)

    @chainer.static_graph
    def forward(self, x, t):
        return F.softmax_cross_entropy(self.net(x, layers=['fc6'])['fc6'], t)


MODELS = {  # shape of the input, steps before, steps of each kind
    'network of the demo': (Small, (32, 64), 50, 300),
    'ResNet50, 64 x 64': (ResNet50, (2, 3, 64, 64), 30, 7)}


def seconds(work):
    started = time.process_time()
    work()
    return time.process_time() - started


def measured(make, shape, before, count):
    chainer.global_config.static_budget = None  # programs, whatever they cost
    np.random.seed(0)
    model = make()
    x, t = np.random.rand(*shape).astype('f'), np.zeros(shape[0], 'i')

    def step():
        model.cleargrads()
        model(x, t).backward()

    def timed():
        with chainer.using_config('static_profile', True):
            step()

    for _ in range(before):
        step()
    timed()
    pairs = [(seconds(step), seconds(timed)) for _ in range(count)]
    plain, profiled = map(statistics.median, zip(*pairs, strict=True))
    page = []

    def make_page():
        page.append(model.schedule_manager.report().to_html())

    took = statistics.median([seconds(make_page) for _ in range(3)])
    parts = [len(p.rows) for q in model.schedule_manager.programs for p in q.profiles.values()]
    return [f'{len(page[-1].encode()) / 2 ** 20:.2f} MiB', f'{took:.2f} s', str(sum(parts)),
            f'{plain * 1e3:.3g} ms', f'{profiled * 1e3:.3g} ms', f'{profiled / plain:.2f}']


def main():
    rows = []
    for target in ('numpy', 'native'):
        with chainer.using_config('static_target', target):
            for name, settings in MODELS.items():
                rows.append(f'| {name} | {target} | {" | ".join(measured(*settings))} |')
    head = ['model', 'target', 'page', 'making it', 'parts that are timed', 'step',
            'step with static_profile', 'ratio']
    (HERE / 'results/report.md').write_text('\n'.join([
        '# The report as a page, and timing programs', '',
        f'NumPy {np.__version__}, Python {platform.python_version()}. CPU time of one thread, '
        'medians; plain and timed steps take turns. Written by `benchmarks/bench_report.py`.', '',
        f'| {" | ".join(head)} |', '|' + '---|' * len(head), *rows, '']))


if __name__ == '__main__':
    main()
