"""Distributions inside of compiled methods: made, drawn from and looked at in each call."""
import pathlib
import sys

import numpy as np
import pytest
from distribution_cases import CASES

import chainer
from chainer import distributions as D
from chainer import functions as F

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / 'graph_optimizations'))

import trust  # noqa: E402


def model_of(case):

    class Model(chainer.Chain):
        decorate = 'forward',

        def forward(self, x, *params):
            d = case.make(D, *params)
            points = d.sample(), d.sample((2,))
            found = [d.log_prob(x), d.mean]
            if case.kl:
                found.append(chainer.kl_divergence(d, case.make(D, *[p + 0 for p in params])))
            return points, found

        def step(self, k):
            arrays, x = case.arrays('f', k)
            params = [chainer.Variable(a) for a in arrays]
            points, found = self.forward(x, *params)
            loss = sum([F.sum(y) for y in (*points, *found) if y.dtype.kind == 'f'])
            loss.backward()
            return points, found, [p.grad for p in params]

    return Model


@pytest.mark.parametrize('case', CASES, ids=lambda case: case.name)
@pytest.mark.filterwarnings('ignore::RuntimeWarning')
def test_same_as_define_by_run(case):
    trust.check(lambda: model_of(case))


@pytest.mark.parametrize('make', [
    lambda mean, scale: D.Normal(mean, scale),
    lambda mean, scale: D.Normal(mean, log_scale=scale),
    lambda mean, scale: D.Independent(D.LogNormal(mean, scale)),
    lambda mean, scale: D.Laplace(mean, scale),
    lambda mean, scale: D.Gumbel(mean, scale),
    lambda mean, scale: D.Cauchy(mean, scale),
])
def test_to_draw_is_no_reason_to_stop(make):
    """Draws of which the arrays decide nothing but the shape, and limits of supports."""

    class Model(chainer.Chain):

        @chainer.static_graph
        def forward(self, mean, scale):
            d = make(mean * 2, F.exp(scale))
            return F.mean(d.log_prob(d.sample(3)))

    model = Model()
    mean, scale = np.zeros((2, 4), 'f'), np.zeros((2, 4), 'f')
    with chainer.using_config('static_budget', None):
        for _ in range(8):
            model(chainer.Variable(mean), chainer.Variable(scale)).backward()
    report, = model.schedule_manager.report()
    assert report.without_python >= 2 and not report.stops
