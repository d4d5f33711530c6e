"""Distributions against mathematics: supports, divergences, samples, what is refused."""
import copy
import pathlib
import sys

import numpy as np
import pytest

import chainer
from chainer import distributions as D
from chainer import functions as F

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / 'graph_optimizations'))

import compare  # noqa: E402


def f(*values):
    return np.array(values, np.float64)


@pytest.mark.parametrize(('distribution', 'outside'), [
    (D.Beta(f(2), f(3)), [-.5, 1.5]), (D.Chisquare(f(3)), [-1]), (D.Exponential(f(2)), [-1]),
    (D.Gamma(f(2), f(3)), [-1]), (D.LogNormal(f(0), f(1)), []), (D.Pareto(f(2), f(3)), [1, -1]),
    (D.Poisson(f(2)), [-1]), (D.Uniform(low=f(1), high=f(2)), [.5, 2.5]),
    (D.Bernoulli(f(.3), binary_check=True), [2, .5]), (D.Geometric(f(.3)), [])])
@pytest.mark.filterwarnings('ignore::RuntimeWarning')  # of logarithms that are not taken then
def test_nothing_happens_outside_of_the_support(distribution, outside):
    for x in outside:
        assert distribution.log_prob(f(x)).array == -np.inf


@pytest.mark.parametrize('make', [
    lambda a, b: D.Normal(a, b), lambda a, b: D.Laplace(a, b), lambda a, b: D.Gumbel(a, b),
    lambda a, b: D.Gamma(b, b), lambda a, b: D.Beta(b, b), lambda a, b: D.Exponential(b),
    lambda a, b: D.LogNormal(a, b / 4), lambda a, b: D.Uniform(loc=a, scale=b),
    lambda a, b: D.Pareto(b, b + 4), lambda a, b: D.Chisquare(b)])
def test_moments_entropy_and_divergence_are_integrals(make):
    """Averages over 200,000 samples, to five of their standard errors."""
    np.random.seed(0)
    one, other = make(f(.5, -1), f(1.5, 2)), make(f(.3, -1), f(1.3, 2.5))
    if isinstance(one, D.Uniform):
        other = make(f(.3, -2), f(2.3, 3.5))  # the divergence is finite
    if isinstance(one, D.Pareto):
        other = make(f(1.2, 1.7), f(1.2, 1.7))
    n = 200_000
    x = one.sample_n(n)

    def check(actual, values):
        error = values.std(axis=0) / n ** .5
        assert (abs(actual.array - values.mean(axis=0)) <= 5 * error + 1e-9).all()

    check(one.mean, x.array)
    check(one.variance, (x.array - one.mean.array) ** 2)
    check(one.entropy, -one.log_prob(x).array)
    if not isinstance(one, D.Chisquare):  # which has no divergence
        difference = one.log_prob(x).array - other.log_prob(x).array
        check(chainer.kl_divergence(one, other), difference)
        check(chainer.cross_entropy(one, other), -other.log_prob(x).array)


def test_cross_entropy_and_divergence_of_discrete_distributions():
    p, q = np.array([[.1, .2, .7]]), np.array([[.3, .3, .4]])
    np.testing.assert_allclose(
        chainer.kl_divergence(D.Categorical(p), D.Categorical(q)).array,
        (p * np.log(p / q)).sum(axis=1))
    np.testing.assert_allclose(
        chainer.cross_entropy(D.Categorical(p), D.Categorical(q)).array,
        -(p * np.log(q)).sum(axis=1))
    np.testing.assert_allclose(
        chainer.cross_entropy(D.Bernoulli(f(.2)), D.Bernoulli(f(.6))).array,
        -(.2 * np.log([.6]) + .8 * np.log([.4])))


class TestMultivariateNormal:

    @pytest.fixture
    def parameters(self):
        rng = np.random.RandomState(0)
        tril = np.tril(rng.uniform(-1, 1, (2, 3, 3))) + 2 * np.eye(3)
        return rng.uniform(-1, 1, (2, 3)), tril

    def test_density(self, parameters):
        loc, tril = parameters
        x = np.random.RandomState(1).uniform(-1, 1, (4, 2, 3))
        V = tril @ tril.transpose(0, 2, 1)
        d = x - loc
        quadratic = np.einsum('nbi,bij,nbj->nb', d, np.linalg.inv(V), d)
        expected = -.5 * (quadratic + np.log(np.linalg.det(2 * np.pi * V)))
        distribution = D.MultivariateNormal(loc, scale_tril=tril)
        np.testing.assert_allclose(distribution.log_prob(x).array, expected, rtol=1e-9)
        np.testing.assert_allclose(distribution.covariance.array, V)
        np.testing.assert_allclose(
            distribution.entropy.array, .5 * np.log(np.linalg.det(2 * np.pi * np.e * V)))

    def test_divergence(self, parameters):
        loc, tril = parameters
        V = tril @ tril.transpose(0, 2, 1)
        kl = chainer.kl_divergence(
            D.MultivariateNormal(loc[:1], scale_tril=tril[:1]),
            D.MultivariateNormal(loc[1:], scale_tril=tril[1:]))
        inverse = np.linalg.inv(V[1])
        d = loc[1] - loc[0]
        np.testing.assert_allclose(kl.array, [.5 * (
            np.trace(inverse @ V[0]) + d @ inverse @ d - 3
            + np.log(np.linalg.det(V[1]) / np.linalg.det(V[0])))])

    def test_samples_have_the_covariance(self, parameters):
        loc, tril = parameters
        np.random.seed(0)
        distribution = D.MultivariateNormal(loc, scale_tril=tril)
        x = distribution.sample_n(100_000).array
        for i in range(2):
            np.testing.assert_allclose(
                np.cov(x[:, i].T), distribution.covariance.array[i], atol=.1)

    def test_copy(self, parameters):
        distribution = D.MultivariateNormal(parameters[0], scale_tril=parameters[1])
        other = copy.copy(distribution)
        assert type(other) is type(distribution)
        assert other.loc is distribution.loc and other.scale_tril is distribution.scale_tril


class TestIndependent:

    def test_axes_of_the_batch_become_axes_of_the_event(self):
        normal = D.Normal(np.zeros((2, 3, 4)), np.ones((2, 3, 4)))
        for n, batch, event in ((0, (2, 3, 4), ()), (1, (2, 3), (4,)), (3, (), (2, 3, 4))):
            d = D.Independent(normal, n)
            assert (d.batch_shape, d.event_shape) == (batch, event)
            assert d.log_prob(np.zeros((5, 2, 3, 4))).shape == (5,) + batch
        assert D.Independent(normal).reinterpreted_batch_ndims == 2
        assert D.Independent(normal).distribution is normal

    def test_too_many_axes(self):
        with pytest.raises(ValueError, match='reinterpreted_batch_ndims must be'):
            D.Independent(D.Normal(f(0), f(1)), 2)

    def test_there_is_no_inverse(self):
        with pytest.raises(RuntimeError, match='not invertible'):
            D.Independent(D.Normal(f(0), f(1))).icdf(f(.5))


class TestArguments:

    @pytest.mark.parametrize(('make', 'message'), [
        (lambda: D.Normal(f(0)), 'Either `scale` or `log_scale`'),
        (lambda: D.Normal(f(0), f(1), log_scale=f(0)), 'Either `scale` or `log_scale`'),
        (lambda: D.Bernoulli(), 'Either `p` or `logit`'),
        (lambda: D.Bernoulli(f(.5), f(0)), 'Either `p` or `logit`'),
        (lambda: D.Categorical(), 'Either `p` or `logit`'),
        (lambda: D.Uniform(low=f(0)), 'Either `low, high` or `loc, scale`'),
        (lambda: D.Uniform(low=f(0), scale=f(1)), 'Either `low, high` or `loc, scale`'),
        (lambda: D.MultivariateNormal(f(0)), '`scale_tril` must have a value')])
    def test_parameters(self, make, message):
        with pytest.raises(ValueError, match=message):
            make()

    def test_shape_of_samples(self):
        d = D.Normal(np.zeros((3, 2)), np.ones((3, 2)))
        assert d.sample().shape == (3, 2)
        assert d.sample(4).shape == (4, 3, 2)
        assert d.sample((4, 5)).shape == (4, 5, 3, 2)
        assert d.sample_n(0).shape == (0, 3, 2)

    @pytest.mark.parametrize('make', [
        D.Normal, D.Beta, D.Cauchy, D.Gamma, D.Gumbel, D.Laplace, D.LogNormal, D.Pareto,
        lambda a, b: D.Uniform(loc=a, scale=b), lambda a, b: D.Exponential(b),
        lambda a, b: D.Bernoulli(a), lambda a, b: D.Categorical(a), lambda a, b: D.Chisquare(b),
        lambda a, b: D.Geometric(a), lambda a, b: D.Poisson(b)])
    def test_points_may_be_numbers(self, make):
        # A number takes part in the dtype of the parameters, as it does among Variables.
        d = make(np.array([.5, .5], 'f'), np.array([1, 2], 'f'))
        for name in 'log_prob', 'prob', 'cdf', 'icdf', 'survival_function':
            for point in 1, .75, np.float64(.75):
                try:
                    expected = getattr(d, name)(np.array(point, 'f'))
                except NotImplementedError:
                    continue
                got = getattr(d, name)(point)
                assert got.dtype == np.float32
                np.testing.assert_array_equal(got.array, expected.array)

    def test_what_a_distribution_does_not_have(self):
        d = D.Normal(f(0), f(1))
        with pytest.raises(NotImplementedError):
            d.perplexity(f(0))
        with pytest.raises(NotImplementedError):
            d.covariance  # noqa: B018
        assert d.xp is np

    def test_moments_that_are_undefined(self):
        d = D.Cauchy(f(0), f(1))
        for what in 'mean', 'variance':
            with pytest.warns(RuntimeWarning, match=f'{what.title()} of the cauchy') as caught:
                assert np.isnan(getattr(d, what).array)
            assert caught[0].filename == __file__

    @pytest.mark.filterwarnings('ignore::RuntimeWarning')  # of logarithms of zero
    def test_certain_events(self):
        d = D.Bernoulli(f(0, 1))
        assert d.log_prob(f(0, 0)).array.tolist() == [0, -np.inf]
        assert d.entropy.array.tolist() == [0, 0]
        assert D.Categorical(np.array([0., 1.])).entropy.array == 0

    def test_infinite_divergences(self):
        wide, narrow = D.Uniform(low=f(0), high=f(3)), D.Uniform(low=f(1), high=f(2))
        assert chainer.kl_divergence(wide, narrow).array == np.inf
        np.testing.assert_allclose(chainer.kl_divergence(narrow, wide).array, np.log([3]))


class TestRegisterKL:

    def test_own_divergence(self):
        class Mine(D.Normal):
            pass

        @chainer.register_kl(Mine, D.Uniform)
        def divergence(dist1, dist2):
            return dist1.mean - dist2.mean

        one = Mine(f(1), f(1))
        assert chainer.kl_divergence(one, D.Uniform(low=f(0), high=f(1))).array == .5

    def test_unknown_pairs(self):
        with pytest.raises(KeyError):
            chainer.kl_divergence(D.Normal(f(0), f(1)), D.Beta(f(1), f(1)))


class VAE(chainer.Chain):
    """A variational autoencoder made with distributions, as people write it."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.mean = chainer.links.Linear(6, 2)
            self.log_scale = chainer.links.Linear(6, 2)
            self.decoder = chainer.links.Linear(2, 6)

    def forward(self, x):
        q = D.Independent(D.Normal(self.mean(x), log_scale=self.log_scale(x)))
        z = q.sample()
        p = D.Independent(D.Bernoulli(logit=self.decoder(z)))
        prior = D.Independent(D.Normal(
            np.zeros((len(x), 2), np.float32), np.ones((len(x), 2), np.float32)))
        return F.mean(chainer.kl_divergence(q, prior) - p.log_prob(x))


def test_distributions_compile():
    plain, static = compare.pair(VAE)
    compare.check(
        plain, static,
        lambda random: (chainer.Variable((random.rand(4, 6) > .5).astype(np.float32)),),
        iterations=8)
    assert compare.hits(static), compare.reasons(static)


def test_divergence_of_batches_broadcasts():
    # As in 7.8.1: what a VAE asks for, its prior being one event without a batch.
    rng = np.random.RandomState(0)
    loc, scale = rng.rand(4, 2).astype('f'), rng.rand(4, 2).astype('f') + .5
    posterior = D.Independent(D.Normal(loc, scale))
    prior = D.Independent(D.Normal(np.zeros(2, 'f'), np.ones(2, 'f')), 1)
    actual = chainer.kl_divergence(posterior, prior).array
    expected = ((scale ** 2 + loc ** 2 - 1) / 2 - np.log(scale)).sum(axis=1)
    np.testing.assert_allclose(actual, expected, 1e-5)
    assert chainer.kl_divergence(prior, posterior).shape == (4,)
    with pytest.raises(ValueError, match='equal event shapes'):
        chainer.kl_divergence(posterior, D.Independent(D.Normal(loc, scale), 2))
