"""Recurrent cells, and recurrent networks on sequences."""
from function_case import case, error, integers, normal

N = normal
HALF = {'e': (1e-2, 1e-2), 'f': (2e-5, 5e-6)}
WHY = 'sums of products, in another order'


def _sequence(name, n_params, n_inputs, states=1, bi=False, layers=2, lengths=(3, 2, 2),
              batch=None, in_size=3, units=2, ratio=0., more=()):
    """A call of ``F.name`` and generators of its arrays.

    ``n_params`` matrices a layer, of which ``n_inputs`` are multiplied by the inputs.
    """
    directions = 2 if bi else 1
    runs = layers * directions
    generators = [normal(runs, batch or lengths[0], units) for _ in range(states)]
    for run in range(runs):
        inputs = in_size if run < directions else units * directions
        generators += [normal(units, inputs if i < n_inputs else units, scale=.7)
                       for i in range(n_params)]
    generators += [normal(units) for _ in range(runs * n_params)]
    generators += [normal(n, in_size) for n in lengths]

    def call(F, *arrays):
        arrays = list(arrays)
        head, arrays = arrays[:states], arrays[states:]
        ws = [arrays[i * n_params:(i + 1) * n_params] for i in range(runs)]
        bs = [arrays[i * n_params:(i + 1) * n_params] for i in range(runs, 2 * runs)]
        xs = arrays[2 * runs * n_params:]
        return getattr(F, name)(layers, ratio, *head, ws, bs, xs, *more)

    return call, tuple(generators)


def _sequences(name, n_params, n_inputs, states=1, bi=False, more=()):
    settings = {
        '': {},
        '_one_layer': {'layers': 1, 'lengths': (2, 2)},
        '_long_states': {'layers': 1, 'lengths': (2, 1), 'batch': 4},
        '_dropout': {'ratio': .4, 'lengths': (3, 1)},
    }
    rows = []
    for suffix, setting in settings.items():
        call, variant = _sequence(name, n_params, n_inputs, states, bi, more=more, **setting)
        label = name + (f'_{more[0]}' if more else '') + suffix
        rows.append(case(label, call, variant, tolerance=HALF, why=WHY, random='ratio' in setting,
                         dtypes='efd' if suffix == '' else 'fd'))
    return rows


CASES = [
    case('lstm', lambda F, c, x: F.lstm(c, x),
         (N(3, 2), N(3, 8)), (N(2, 3, 2), N(2, 12, 2)), (N(0, 2), N(0, 8))),
    case('lstm_shorter', lambda F, c, x: F.lstm(c, x), (N(4, 2), N(3, 8))),
    case('slstm', lambda F, *xs: F.slstm(*xs),
         (N(3, 2), N(3, 2), N(3, 8), N(3, 8)), (N(2, 3, 2), N(2, 3, 2), N(2, 12, 2), N(2, 12, 2))),
    case('tree_lstm', lambda F, *xs: F.tree_lstm(*xs),
         (N(3, 2), N(3, 8)), (N(3, 2), N(3, 2), N(3, 10)), (N(2, 3), N(2, 3), N(2, 3), N(2, 18))),
] + [row for args in [
    ('n_step_lstm', 8, 4, 2), ('n_step_bilstm', 8, 4, 2, True), ('n_step_gru', 6, 3),
    ('n_step_bigru', 6, 3, 1, True), ('n_step_rnn', 2, 1), ('n_step_birnn', 2, 1, 1, True),
    ('n_step_rnn', 2, 1, 1, False, ('relu',)), ('n_step_birnn', 2, 1, 1, True, ('relu',)),
] for row in _sequences(*args)]


def _sequence_errors():
    rows = []
    for name, n_params, n_inputs, states in [
            ('n_step_lstm', 8, 4, 2), ('n_step_gru', 6, 3, 1), ('n_step_rnn', 2, 1, 1)]:
        call, arrays = _sequence(name, n_params, n_inputs, states, layers=1)
        wrong = (normal(2, 3, 2), *arrays[1:])
        rows.append(error(name + '_states', call, wrong, 'ValueError', 'initial states',
                          record=False, why='the original fails otherwise'))
        wrong = (normal(1, 2, 2), *arrays[1:])
        rows.append(error(name + '_batch', call, wrong, 'ValueError', 'initial states',
                          record=False, why='the original fails otherwise'))
        growing, arrays = _sequence(
            name, n_params, n_inputs, states, layers=1, lengths=(2, 3), batch=3)
        rows.append(error(name + '_growing', growing, arrays, 'ValueError', 'must not grow',
                          record=False, why='the original computes something'))
        empty, arrays = _sequence(
            name, n_params, n_inputs, states, layers=1, lengths=(), batch=3)
        rows.append(error(name + '_empty', empty, arrays, 'ValueError', 'xs is empty',
                          record=False, why='the original fails with IndexError'))
        call, arrays = _sequence(name, n_params, n_inputs, states, layers=1, lengths=(3,))
        wrong = (*arrays[:-1], normal(3, 7))
        rows.append(error(name + '_wide', call, wrong, 'ValueError', 'Inconsistent input size',
                          record=name != 'n_step_gru', why='the original raises InvalidType'))
        rows.append(error(name + '_wide_type', call, wrong, text='Inconsistent input size',
                          record=False, why='the original says it otherwise, or ValueError'))
        wrong = (normal(3, 2), *arrays[1:])
        rows.append(error(name + '_states_ndim', call, wrong, 'IndexError', 'initial states'))
    return rows


INT = integers(0, 3, 3, 2)

ERRORS = [
    error('lstm_longer', lambda F, c, x: F.lstm(c, x), (N(2, 2), N(3, 8))),
    error('lstm_units', lambda F, c, x: F.lstm(c, x), (N(3, 2), N(3, 7))),
    error('lstm_rest', lambda F, c, x: F.lstm(c, x), (N(3, 2, 4), N(3, 8, 3))),
    error('lstm_ndim', lambda F, c, x: F.lstm(c, x), (N(3, 2, 4), N(3, 8))),
    error('lstm_dtype', lambda F, c, x: F.lstm(c, x), (INT, N(3, 8))),
    error('lstm_dtypes', lambda F, c, x: F.lstm(c, x), (normal(3, 2, dtype='d'), N(3, 8))),
    error('slstm_batch', lambda F, *xs: F.slstm(*xs), (N(3, 2), N(3, 2), N(2, 8), N(2, 8))),
    error('slstm_batch2', lambda F, *xs: F.slstm(*xs), (N(3, 2), N(2, 2), N(3, 8), N(3, 8))),
    error('slstm_units', lambda F, *xs: F.slstm(*xs), (N(3, 2), N(3, 2), N(3, 8), N(3, 12))),
    error('slstm_other_units', lambda F, *xs: F.slstm(*xs),
          (N(3, 2), N(3, 3), N(3, 8), N(3, 12)), record=False,
          why='the original fails in arithmetic (ValueError)'),
    error('slstm_dtype', lambda F, *xs: F.slstm(*xs), (INT, N(3, 2), N(3, 8), N(3, 8))),
    error('slstm_dtypes', lambda F, *xs: F.slstm(*xs),
          (normal(3, 2, dtype='d'), N(3, 2), N(3, 8), N(3, 8))),
    error('tree_lstm_gates', lambda F, *xs: F.tree_lstm(*xs), (N(3, 2), N(3, 2), N(3, 12))),
    error('tree_lstm_batch', lambda F, *xs: F.tree_lstm(*xs), (N(3, 2), N(2, 2), N(3, 10))),
    error('tree_lstm_batches', lambda F, *xs: F.tree_lstm(*xs), (N(3, 2), N(2, 8))),
    error('tree_lstm_no_child', lambda F, *xs: F.tree_lstm(*xs), (N(3, 10),)),
    error('tree_lstm_dtype', lambda F, *xs: F.tree_lstm(*xs), (INT, N(3, 8))),
    error('n_step_rnn_activation', _sequence('n_step_rnn', 2, 1, more=('sigmoid',))[0],
          _sequence('n_step_rnn', 2, 1)[1], 'ValueError', 'Invalid activation: "sigmoid"'),
    error('n_step_lstm_train', lambda F: F.n_step_lstm(1, 0., *[None] * 5, train=True), (),
          'ValueError', 'using_config'),
    error('n_step_gru_use_cudnn', lambda F: F.n_step_gru(1, 0., *[None] * 4, use_cudnn=True), (),
          'ValueError', 'using_config'),
    error('n_step_birnn_keyword', lambda F: F.n_step_birnn(1, 0., *[None] * 4, foo=1), (),
          'TypeError', 'foo'),
] + _sequence_errors()
