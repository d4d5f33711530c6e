"""examples/glance: the mushrooms."""
import json
import os

import pytest


def test_without_data(example):
    with pytest.raises(SystemExit, match='There is no mushrooms.csv here.*make_mushrooms.py'):
        example('glance/glance.py').run()


def test_making_mushrooms(example, monkeypatch):
    monkeypatch.setattr('sys.argv', ['make_mushrooms.py', '--number', '6'])
    assert '6 invented mushrooms' in example('glance/make_mushrooms.py').run()
    with open('mushrooms.csv') as file:
        assert [line.count(',') for line in file] == [22] * 7


def test_training(example, monkeypatch):
    pytest.importorskip('matplotlib')
    monkeypatch.setattr('sys.argv', ['glance.py', '--test'])
    printed = example('glance/glance.py').run([
        ('write(8000,', 'write(600,'),
        ("(50, 'epoch')", "(12, 'epoch')"), ("(20, 'epoch')", "(12, 'epoch')"),
        # Two pictures after each epoch take most of the time.
        ("'epoch', file_name='loss.png'", "'epoch', trigger=(12, 'epoch'), file_name='loss.png'"),
        ("'epoch', file_name='accuracy.png'",
         "'epoch', trigger=(12, 'epoch'), file_name='accuracy.png'"),
        ('SGD()', 'SGD(0.1)')])
    first, *lines = printed.replace('\x1b[J', '').splitlines()
    assert first == '600 invented mushrooms written to mushrooms.csv'
    assert lines[0].split() == [
        'epoch', 'main/loss', 'validation/main/loss', 'main/accuracy', 'validation/main/accuracy',
        'elapsed_time']
    assert lines[12].split()[0] == '12'
    assert lines[13].startswith('Predicted ')
    assert {'cg.dot', 'log', 'loss.png', 'accuracy.png', 'snapshot_iter_51'} <= set(
        os.listdir('result'))
    with open('result/log') as file:
        log = json.load(file)
    assert log[-1]['main/loss'] < log[0]['main/loss']
