"""Distributions that are compared with the original, by the tests and by record_distributions.py.

Runs on Python 3.8 under the original; imports nothing but NumPy.
"""
import numpy as np

PROPERTIES = ('mean', 'variance', 'stddev', 'mode', 'entropy', 'covariance')
METHODS = ('log_prob', 'prob', 'cdf', 'icdf', 'log_cdf', 'survival_function',
           'log_survival_function', 'perplexity')
PLAIN = ('batch_shape', 'event_shape', 'support')


def real(*shape):
    return lambda rng: rng.uniform(-1, 1, shape)


def positive(*shape):
    return lambda rng: rng.uniform(.5, 3, shape)


def above(low, *shape):
    return lambda rng: low + rng.uniform(.5, 3, shape)


def unit(*shape):
    return lambda rng: rng.uniform(.1, .9, shape)


def half(*shape):
    return lambda rng: np.full(shape, .5)


def simplex(*shape):
    def make(rng):
        p = rng.uniform(.1, 1, shape)
        return p / p.sum(axis=-1, keepdims=True)
    return make


def tril(*shape):
    def make(rng):
        a = np.tril(rng.uniform(-1, 1, shape))
        index = np.arange(shape[-1])
        a[..., index, index] = rng.uniform(.5, 2, shape[:-1])
        return a
    return make


def integers(low, high, *shape):
    return lambda rng: rng.randint(low, high, shape)


def whole(low, high, *shape):
    """Integers as floating-point numbers."""
    return lambda rng: rng.randint(low, high, shape).astype(np.float64)


def one_hot(*shape):
    return lambda rng: np.eye(shape[-1])[rng.randint(0, shape[-1], shape[:-1])]


class Case:
    """A distribution: how it is made of parameters, and the points where it is looked at."""

    def __init__(self, name, make, params, x, discrete=False, kl=True):
        self.name = name
        self.make = make  # (chainer.distributions, *params) -> distribution
        self.params = params
        self.x = x
        self.discrete = discrete
        self.kl = kl

    def arrays(self, char, seed=0):
        """Parameters and points."""
        rng = np.random.RandomState(sum(map(ord, self.name)) + seed)
        params = [np.asarray(make(rng)).astype(char) for make in self.params]
        x = np.asarray(self.x(rng))
        return params, x.astype(np.int32 if x.dtype.kind == 'i' else char)


CASES = [
    Case('bernoulli', lambda D, p: D.Bernoulli(p), [unit(3, 2)], whole(0, 2, 3, 2), True),
    Case('bernoulli_logit', lambda D, l: D.Bernoulli(logit=l), [real(3, 2)],
         whole(0, 2, 4, 3, 2), True),
    Case('bernoulli_check', lambda D, p: D.Bernoulli(p, binary_check=True), [unit(3, 2)],
         integers(0, 3, 3, 2), True),
    Case('beta', lambda D, a, b: D.Beta(a, b), [positive(3, 2), positive(3, 2)], unit(3, 2)),
    Case('categorical', lambda D, p: D.Categorical(p), [simplex(3, 4)], integers(0, 4, 2, 3), True),
    Case('categorical_logit', lambda D, l: D.Categorical(logit=l), [real(3, 4)],
         integers(0, 4, 3), True),
    Case('cauchy', lambda D, m, s: D.Cauchy(m, s), [real(3, 2), positive(3, 2)], real(3, 2),
         kl=False),
    Case('chisquare', lambda D, k: D.Chisquare(k), [positive(3, 2)], positive(3, 2), kl=False),
    Case('dirichlet', lambda D, a: D.Dirichlet(a), [positive(3, 4)], simplex(3, 4)),
    Case('exponential', lambda D, l: D.Exponential(l), [positive(3, 2)], positive(3, 2)),
    Case('gamma', lambda D, k, t: D.Gamma(k, t), [positive(3, 2), positive(3, 2)],
         positive(3, 2)),
    Case('geometric', lambda D, p: D.Geometric(p), [unit(3, 2)], whole(1, 5, 3, 2), True),
    Case('gumbel', lambda D, m, s: D.Gumbel(m, s), [real(3, 2), positive(3, 2)], real(3, 2)),
    Case('independent', lambda D, m, s: D.Independent(D.Normal(m, s)),
         [real(3, 2), positive(3, 2)], real(3, 2)),
    Case('independent_2', lambda D, m, s: D.Independent(D.Normal(m, s), 2),
         [real(4, 3, 2), positive(4, 3, 2)], real(4, 3, 2)),
    Case('independent_multivariate',
         lambda D, m, t: D.Independent(D.MultivariateNormal(m, scale_tril=t), 1),
         [real(4, 3, 2), tril(4, 3, 2, 2)], real(4, 3, 2)),
    Case('laplace', lambda D, m, s: D.Laplace(m, s), [real(3, 2), positive(3, 2)], unit(3, 2)),
    Case('laplace_middle', lambda D, m, s: D.Laplace(m, s), [half(3, 2), positive(3, 2)],
         half(3, 2)),
    Case('log_normal', lambda D, m, s: D.LogNormal(m, s), [real(3, 2), positive(3, 2)],
         positive(3, 2)),
    Case('multivariate_normal', lambda D, m, t: D.MultivariateNormal(m, scale_tril=t),
         [real(3, 2), tril(3, 2, 2)], real(3, 2)),
    Case('multivariate_normal_4', lambda D, m, t: D.MultivariateNormal(m, scale_tril=t),
         [real(2, 3, 4), tril(2, 3, 4, 4)], real(2, 2, 3, 4)),
    Case('normal', lambda D, m, s: D.Normal(m, s), [real(3, 2), positive(3, 2)], unit(3, 2)),
    Case('normal_log_scale', lambda D, m, s: D.Normal(m, log_scale=s), [real(3, 2), real(3, 2)],
         unit(4, 3, 2)),
    Case('one_hot_categorical', lambda D, p: D.OneHotCategorical(p), [simplex(3, 4)],
         one_hot(3, 4), True),
    Case('pareto', lambda D, s, a: D.Pareto(s, a), [positive(3, 2), above(2, 3, 2)],
         above(3, 3, 2)),
    Case('poisson', lambda D, l: D.Poisson(l), [positive(3, 2)], whole(0, 5, 3, 2), True),
    Case('uniform', lambda D, l, h: D.Uniform(low=l, high=h), [real(3, 2), above(2, 3, 2)],
         unit(3, 2)),
    Case('uniform_loc', lambda D, l, s: D.Uniform(loc=l, scale=s), [real(3, 2), positive(3, 2)],
         unit(5, 3, 2)),
    # Without axes.
    Case('bernoulli_0d', lambda D, p: D.Bernoulli(p), [unit()], whole(0, 2), True),
    Case('beta_0d', lambda D, a, b: D.Beta(a, b), [positive(), positive()], unit()),
    Case('categorical_0d', lambda D, p: D.Categorical(p), [simplex(4)], integers(0, 4), True),
    Case('categorical_one_point', lambda D, p: D.Categorical(p), [simplex(3, 4)], integers(0, 4),
         True),
    Case('categorical_broadcast', lambda D, p: D.Categorical(p), [simplex(3, 1, 4)],
         integers(0, 4, 2, 1, 5), True),
    Case('cauchy_0d', lambda D, m, s: D.Cauchy(m, s), [real(), positive()], real(), kl=False),
    Case('chisquare_0d', lambda D, k: D.Chisquare(k), [positive()], positive(), kl=False),
    Case('exponential_0d', lambda D, l: D.Exponential(l), [positive()], positive()),
    Case('gamma_0d', lambda D, k, t: D.Gamma(k, t), [positive(), positive()], positive()),
    Case('geometric_0d', lambda D, p: D.Geometric(p), [unit()], whole(1, 5), True),
    Case('gumbel_0d', lambda D, m, s: D.Gumbel(m, s), [real(), positive()], real()),
    Case('laplace_0d', lambda D, m, s: D.Laplace(m, s), [real(), positive()], unit()),
    Case('log_normal_0d', lambda D, m, s: D.LogNormal(m, s), [real(), positive()], positive()),
    Case('normal_0d', lambda D, m, s: D.Normal(m, s), [real(), positive()], unit()),
    Case('pareto_0d', lambda D, s, a: D.Pareto(s, a), [positive(), above(2)], above(3)),
    Case('poisson_0d', lambda D, l: D.Poisson(l), [positive()], whole(0, 5), True),
    Case('poisson_one_point', lambda D, l: D.Poisson(l), [positive(3)], whole(0, 5), True),
    Case('uniform_0d', lambda D, l, h: D.Uniform(low=l, high=h), [real(), above(2)], unit()),
]


def run(chainer, case, char):
    """Everything that is compared: arrays, lists, or the names of exceptions."""
    results = {}
    arrays, x = case.arrays(char)
    params = [chainer.Variable(a) for a in arrays]
    distribution = case.make(chainer.distributions, *params)
    for name in PLAIN:
        results[name] = attempt(lambda: list_or_str(getattr(distribution, name)))  # noqa: B023
    for name in PROPERTIES:
        results.update(values(
            chainer, name, lambda: getattr(distribution, name), params, None))  # noqa: B023
    for name in METHODS:
        point = chainer.Variable(x) if x.dtype.kind == 'f' else x
        results.update(values(
            chainer, name, lambda: getattr(distribution, name)(point), params, point))  # noqa: B023
    for name, shape in (('sample', ()), ('sample_2', (2,)), ('sample_3_2', (3, 2))):
        np.random.seed(3)
        results.update(values(
            chainer, name, lambda: distribution.sample(shape), params, None))  # noqa: B023
    np.random.seed(4)
    results['sample_n'] = attempt(lambda: distribution.sample_n(5).array)
    if case.kl:
        other_arrays, _ = case.arrays(char, seed=1)
        others = [chainer.Variable(a) for a in other_arrays]
        other = case.make(chainer.distributions, *others)
        results.update(values(
            chainer, 'kl', lambda: chainer.kl_divergence(distribution, other), params + others,
            None))
        results.update(values(
            chainer, 'cross_entropy', lambda: chainer.cross_entropy(distribution, other), [],
            None))
    results['params'] = sorted(distribution.params)
    return results


def values(chainer, name, call, params, x):
    """The value of a property or method, and its gradients."""
    y = attempt(call)
    if isinstance(y, str):
        return {name: y}
    results = {name: y.array}
    inputs = list(params) + ([x] if isinstance(x, chainer.Variable) else [])
    if y.dtype.kind == 'f' and y.requires_grad and inputs:
        rng = np.random.RandomState(5)
        gy = chainer.Variable(np.asarray(rng.uniform(-1, 1, y.shape)).astype(y.dtype))
        gradients = attempt(lambda: chainer.grad([y], inputs, [gy]))
        if isinstance(gradients, str):
            return dict(results, **{name + ' gradients': gradients})
        for i, g in enumerate(gradients):
            results['%s gradient %d' % (name, i)] = 'None' if g is None else g.array  # noqa: UP031
    return results


def attempt(call):
    try:
        return call()
    except Exception as e:
        return type(e).__name__


def list_or_str(value):
    return value if isinstance(value, str) else list(value)
