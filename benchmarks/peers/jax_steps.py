"""The workloads of bench_native.py, as one writes them with JAX: functions of parameters.

On JAX's own device; each step is waited for unless ``PEERS_DEVICE`` is ``cuda``.
"""
import os

import jax
import jax.numpy as jnp
import numpy as np
import shapes
from jax import lax

tree_map = jax.tree_util.tree_map
last = []


def done(results):
    """What a step gives, which is there on the CPU; on a device the next one may be asked for."""
    if os.environ.get('PEERS_DEVICE', 'cpu') == 'cpu':
        return jax.block_until_ready(results)
    last[:] = [results]
    return results


def wait():
    """What has been asked of the device is done."""
    jax.block_until_ready(last)


def linear(rng, n, m):
    return rng.standard_normal((n, m)).astype('f') / n ** 0.5, np.zeros(m, 'f')


def apply(parameters, x):
    return x @ parameters[0] + parameters[1]


def norm(x, parameters, axes=(-1,)):
    mean = x.mean(axes, keepdims=True)
    variance = ((x - mean) ** 2).mean(axes, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * parameters[0] + parameters[1]


def dropout(key, x):
    return x if key is None else jnp.where(jax.random.bernoulli(key, 0.9, x.shape), x / 0.9, 0)


def dense(parameters, x, key):
    for layer in parameters[:-1]:
        x = jax.nn.relu(apply(layer, x))
    return apply(parameters[-1], x)


def conv(parameters, x, key):
    x = x.transpose(0, 2, 3, 1)
    for k, (filters, scale, mean, variance) in enumerate(parameters['blocks']):
        x = lax.conv_general_dilated(
            x, filters, (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))
        if key is None:  # inference: statistics of training
            x = (x - mean) * lax.rsqrt(variance + 1e-5) * scale[0] + scale[1]
        else:
            x = norm(x, scale, (0, 1, 2))
        x = jax.nn.relu(x)
        if k % 2:
            window = (1, 2, 2, 1)
            x = lax.reduce_window(x, -jnp.inf, lax.max, window, window, 'VALID')
    return apply(parameters['out'], x.reshape(32, -1))


def recurrent(parameters, x, key):
    ups = apply(parameters['up'], parameters['embed'][x.T])

    def cell(state, up):
        c, h = state
        a, i, f, o = jnp.split(up + h @ parameters['across'], 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(a)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (c, h), h

    zeros = jnp.zeros((20, 650), 'f')
    return apply(parameters['out'], lax.scan(cell, (zeros, zeros), ups)[1].reshape(700, 650))


def encoder(parameters, x, key):
    keys = (None, None) if key is None else jax.random.split(key)
    h = apply(parameters['qkv'], x).reshape(16, 64, 3, 4, 64).transpose(2, 0, 3, 1, 4)
    weights = jax.nn.softmax(h[0] @ h[1].swapaxes(2, 3) * 0.125)
    a = (weights @ h[2]).transpose(0, 2, 1, 3).reshape(1024, 256)
    x = norm(x + dropout(keys[0], apply(parameters['mix'], a)), parameters['norm1'])
    h = apply(parameters['narrow'], jax.nn.gelu(apply(parameters['wide'], x)))
    return norm(x + dropout(keys[1], h), parameters['norm2'])


def elementwise(parameters, x, key):
    h = jax.nn.gelu(x * parameters['w'] + parameters['b'])
    return dropout(key, norm(h, parameters['norm']))


def scale(n):
    return np.ones(n, 'f'), np.zeros(n, 'f')


def model_of(workload, rng):
    """Forward function and parameters."""
    if workload in ('small', 'mlp'):
        sizes = shapes.SMALL if workload == 'small' else shapes.MLP
        return dense, [linear(rng, n, m) for n, m in zip(sizes, sizes[1:])]
    if workload == 'conv':
        blocks = [
            (rng.standard_normal((3, 3, n, m)).astype('f') / (9 * n) ** 0.5, scale(m),
             *reversed(scale(m))) for n, m in shapes.CHANNELS]
        return conv, {'blocks': blocks, 'out': linear(rng, 128 * 64, 10)}
    if workload == 'lstm':
        return recurrent, {
            'embed': rng.standard_normal((2000, 650)).astype('f'), 'up': linear(rng, 650, 2600),
            'across': linear(rng, 650, 2600)[0], 'out': linear(rng, 650, 2000)}
    if workload == 'tr':
        return encoder, {
            'qkv': linear(rng, 256, 768), 'mix': linear(rng, 256, 256),
            'wide': linear(rng, 256, 1024), 'narrow': linear(rng, 1024, 256),
            'norm1': scale(256), 'norm2': scale(256)}
    w, b = scale(1024)
    return elementwise, {'w': w, 'b': b, 'norm': scale(1024)}


def squares(y, t):
    return ((y - t) ** 2).mean()


def classes(y, t):
    return -jnp.take_along_axis(jax.nn.log_softmax(y), t[:, None], 1).mean()


def updated(kind, parameters, states, gradients):
    """Parameters and states of the optimizer after one update."""
    if kind == 'sgd':
        return tree_map(lambda p, g: p - 0.1 * g, parameters, gradients), states
    if kind == 'momentum':
        states = tree_map(lambda v, g: 0.9 * v - 0.01 * g, states, gradients)
        return tree_map(jnp.add, parameters, states), states
    m, v, t = states
    m = tree_map(lambda m, g: 0.9 * m + 0.1 * g, m, gradients)
    v = tree_map(lambda v, g: 0.999 * v + 0.001 * g * g, v, gradients)
    rate = 0.001 * jnp.sqrt(1 - 0.999 ** (t + 1)) / (1 - 0.9 ** (t + 1))
    moved = tree_map(lambda p, m, v: p - rate * m / (jnp.sqrt(v) + 1e-8), parameters, m, v)
    return moved, (m, v, t + 1)


def steps(workload, mode, way):
    """One step of a workload: ``way`` is 'jit'."""
    forward, parameters = model_of(workload, np.random.default_rng(0))
    parameters = tree_map(jnp.asarray, parameters)
    x, t, loss, optimizer = shapes.data(workload)
    x, t, key = jnp.asarray(x), jnp.asarray(t), jax.random.PRNGKey(0)
    if mode == 'infer':
        infer = jax.jit(lambda parameters, x: forward(parameters, x, None))
        return lambda: done(infer(parameters, x))
    if loss is None:
        @jax.jit
        def both(parameters, x, t, key):
            y, back = jax.vjp(lambda parameters, x: forward(parameters, x, key), parameters, x)
            return y, back(t), jax.random.split(key)[0]

        state = [key]

        def run():
            *_, state[0] = done(both(parameters, x, t, state[0]))
        return run
    losses = squares if loss == 'squares' else classes
    zeros = tree_map(jnp.zeros_like, parameters)
    states = (zeros, tree_map(jnp.zeros_like, parameters), jnp.float32(0))

    def train(parameters, states, x, t, key):
        key, now = jax.random.split(key)
        gradients = jax.grad(lambda p: losses(forward(p, x, now), t))(parameters)
        return *updated(optimizer, parameters, states, gradients), key

    train = jax.jit(train, donate_argnums=(0, 1))
    state = [parameters, states if optimizer == 'adam' else zeros, key]

    def step():
        state[:] = done(train(state[0], state[1], x, t, state[2]))
    return step
