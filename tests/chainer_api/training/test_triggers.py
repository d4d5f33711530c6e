"""Triggers: errors and what they save. (When they fire is compared in test_golden.py.)"""
import pathlib
import sys

import pytest

from chainer import serializers, testing, training
from chainer.training import triggers, util

GOLDEN = pathlib.Path(__file__).parents[2] / 'golden'
sys.path.insert(0, str(GOLDEN))

from training_cases import VALUES, fire  # noqa: E402


@pytest.mark.parametrize('kind', [triggers.IntervalTrigger, triggers.ManualScheduleTrigger])
def test_unit(kind):
    with pytest.raises(ValueError, match="must be 'iteration' or 'epoch', not 'day'"):
        kind(1, 'day')


@pytest.mark.parametrize('period', [0, -1, float('nan')])
def test_period(period):
    with pytest.raises(ValueError, match='must be positive'):
        triggers.IntervalTrigger(period, 'epoch')


def test_get_trigger():
    assert training.get_trigger(None)(None) is False
    assert training.get_trigger(len) is len
    trigger = training.get_trigger((3, 'epoch'))
    assert trigger.get_training_length() == (3, 'epoch')
    assert str(trigger) == "IntervalTrigger(3, 'epoch')"
    assert util.get_trigger is training.get_trigger is training.trigger.get_trigger


MAKERS = [
    lambda: triggers.IntervalTrigger(3, 'iteration'),
    lambda: triggers.IntervalTrigger(1.5, 'epoch'),
    lambda: triggers.ManualScheduleTrigger([4, 5, 9], 'iteration'),
    lambda: triggers.ManualScheduleTrigger((0.5, 2), 'epoch'),
    lambda: triggers.TimeTrigger(2.5),
    lambda: triggers.OnceTrigger(),
    lambda: triggers.MinValueTrigger('loss', (2, 'iteration')),
    lambda: triggers.MaxValueTrigger('loss', lambda trainer: trainer.updater.iteration % 3 == 0),
    lambda: triggers.EarlyStoppingTrigger((2, 'iteration'), 'loss', 1),
]


@pytest.mark.parametrize('make', MAKERS)
def test_saved_trigger_goes_on(make):
    expected = fire(make(), VALUES)
    for stop in range(1, 15):
        trigger = make()
        before = fire(trigger, VALUES, stop)
        serializer = serializers.DictionarySerializer()
        serializer.save(trigger)
        resumed = make()
        serializers.NpzDeserializer(serializer.target).load(resumed)

        class After:
            def __call__(self, trainer, stop=stop, resumed=resumed):
                return trainer.updater.iteration > stop and resumed(trainer)

        assert before + fire(After(), VALUES) == expected


def test_once_again_on_resume():
    trigger = triggers.OnceTrigger(call_on_resume=True)
    assert fire(trigger, n=3) == [1] and trigger.finished
    serializer = serializers.DictionarySerializer()
    serializer.save(trigger)
    resumed = triggers.OnceTrigger(call_on_resume=True)
    serializers.NpzDeserializer(serializer.target).load(resumed)
    assert not resumed.finished and fire(resumed, n=3) == [1]
    resumed = triggers.OnceTrigger()
    serializers.NpzDeserializer(serializer.target).load(resumed)
    assert resumed.finished and fire(resumed, n=3) == []


@pytest.mark.parametrize(('trigger', 'state', 'key', 'fires'), [
    (triggers.ManualScheduleTrigger([2, 4], 'iteration'),
     {'previous_iteration': 1, 'previous_epoch_detail': 0.}, 'finished', [2, 4]),
    (triggers.OnceTrigger(), {}, '_flag_first', []),
    (triggers.OnceTrigger(call_on_resume=True), {}, '_flag_first', [1]),
])
def test_snapshot_of_an_older_version(trigger, state, key, fires):
    # 7.8.1 warns of these, too.
    with pytest.warns(UserWarning, match=f"the snapshot has no '{key}'") as caught:
        serializers.NpzDeserializer(state).load(trigger)
    assert len(caught) == 1
    assert fire(trigger, n=6) == fires


@pytest.mark.parametrize('kind', [triggers.MinValueTrigger, triggers.MaxValueTrigger])
def test_snapshot_without_the_best_value(kind):
    # Those of Chainer 5 have nothing of these triggers.
    trigger = kind('loss', (1, 'iteration'))
    with pytest.warns(UserWarning, match=f'the state of a {kind.__name__}: it starts anew'):
        serializers.NpzDeserializer({}).load(trigger)
    assert fire(trigger, VALUES, 6) == fire(kind('loss', (1, 'iteration')), VALUES, 6)


@pytest.mark.parametrize('make', MAKERS[:3])
def test_snapshot_without_counts(make):
    trigger = make()
    with pytest.warns(UserWarning, match='does not tell when this'):
        if isinstance(trigger, triggers.ManualScheduleTrigger):
            serializers.NpzDeserializer({'finished': False}).load(trigger)
        else:
            serializers.NpzDeserializer({}).load(trigger)

    class FromFourOn:
        def __call__(self, trainer):
            return trainer.updater.iteration >= 4 and trigger(trainer)

    assert fire(FromFourOn(), n=9) == [i for i in fire(make(), n=9) if i >= 4]


def test_schedule_is_finished():
    trigger = triggers.ManualScheduleTrigger([2, 4], 'iteration')
    fire(trigger, n=3)
    assert not trigger.finished
    trigger = triggers.ManualScheduleTrigger(4, 'iteration')
    fire(trigger, n=5)
    assert trigger.finished


def test_value_that_is_not_reported():
    with pytest.raises(KeyError, match=r"'acc' was not reported .* were: \['loss'\]"):
        fire(triggers.MaxValueTrigger('acc', (1, 'iteration')), VALUES)
    trigger = triggers.EarlyStoppingTrigger((1, 'iteration'), 'acc', max_trigger=(7, 'iteration'))
    with pytest.warns(UserWarning, match="waits for 'acc', which was not reported") as caught:
        assert fire(trigger, VALUES, 9) == [7]
    assert len(caught) == 1


class TestEarlyStopping:

    def test_two_names(self):
        assert triggers.EarlyStoppingTrigger(patients=5).patience == 5
        assert triggers.EarlyStoppingTrigger(patience=5).patience == 5
        assert triggers.EarlyStoppingTrigger().patience == 3
        with pytest.raises(TypeError, match='two names of one argument'):
            triggers.EarlyStoppingTrigger(patients=4, patience=5)

    def test_mode(self):
        with pytest.raises(ValueError, match="not 'most'"):
            triggers.EarlyStoppingTrigger(mode='most')
        assert triggers.EarlyStoppingTrigger(monitor='validation/main/accuracy').best < 0
        assert triggers.EarlyStoppingTrigger(monitor='main/loss').best > 0

    @pytest.mark.parametrize(('mode', 'name'), [('auto', 'less'), ('max', 'greater')])
    def test_verbose(self, capsys, mode, name):
        triggers.EarlyStoppingTrigger((1, 'iteration'), 'loss', 2, mode, verbose=True)
        assert capsys.readouterr().out == f'early stopping: operator is {name}\n'

    def test_verbose_when_it_fires(self, capsys):
        trigger = triggers.EarlyStoppingTrigger((1, 'iteration'), 'loss', 2, verbose=True)
        capsys.readouterr()
        fire(trigger, VALUES, 9)
        assert capsys.readouterr().out == 'Epoch 2: early stopping\nEpoch 3: early stopping\n'

    def test_training_length(self):
        trigger = triggers.EarlyStoppingTrigger(max_trigger=(9, 'epoch'))
        assert trigger.get_training_length() == (9, 'epoch')


@pytest.mark.parametrize('name', ['patience', 'patients'])
def test_both_names_of_patience(name):
    trigger = triggers.EarlyStoppingTrigger(**{name: 5})
    assert trigger.patience == trigger.patients == 5


def test_a_manual_schedule_without_points():
    trainer = testing.get_trainer_with_mock_updater(stop_trigger=(2, 'iteration'))
    trigger = triggers.ManualScheduleTrigger([], 'iteration')
    assert not trigger(trainer) and not trigger.finished
