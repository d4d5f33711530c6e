"""Classes of the original that call cuDNN can be named and derived from."""
import importlib

import pytest

import chainer

MODULES = {
    'n_step_lstm': ['NStepLSTM', 'NStepBiLSTM'],
    'n_step_gru': ['NStepGRU', 'NStepBiGRU'],
    'n_step_rnn': ['NStepRNNTanh', 'NStepRNNReLU', 'NStepBiRNNTanh', 'NStepBiRNNReLU'],
}


@pytest.mark.parametrize(
    ('module', 'name'), [(module, name) for module, names in MODULES.items() for name in names])
def test_says_what_does_the_same(module, name):
    here, there = [
        getattr(importlib.import_module(f'chainer.functions.{part}.{module}'), name)
        for part in ('connection', 'rnn')]
    derived = type('Mine', (here,), {})
    assert here is there and issubclass(here, chainer.Function) and here.__name__ == name
    assert callable(getattr(chainer.functions, here.instead))
    with pytest.raises(NotImplementedError, match=f'use chainer.functions.{here.instead}, which'):
        derived(1, None, [3])
