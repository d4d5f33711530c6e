"""Evaluation functions."""
import numpy as np
from function_case import case, constant, error, integers, normal

NONE = dict(grads=())  # not differentiable


def summary(name, *variants, **kwargs):
    return case(name, lambda F, y, t: F.classification_summary(y, t, **kwargs), *variants,
                opaque='label_num' not in kwargs, **NONE)


LABELS = constant([0, 1, 2, 2], 'i')

CASES = [
    case('accuracy', lambda F, y, t: F.accuracy(y, t), (normal(5, 3), integers(0, 3, 5)),
         (normal(2, 3, 4), integers(0, 3, 2, 4)), (normal(4, 3, 1, 1), integers(0, 3, 4)), **NONE),
    case('accuracy_ignore', lambda F, y, t: F.accuracy(y, t, ignore_label=1),
         (normal(5, 3), integers(0, 3, 5)), (normal(2, 3), constant([1, 1], 'i')), **NONE),
    case('binary_accuracy', lambda F, y, t: F.binary_accuracy(y, t),
         (normal(5), integers(-1, 2, 5)), (normal(2, 3), integers(-1, 2, 2, 3)),
         (normal(2), constant([-1, -1], 'i')), (normal(0, 2), integers(0, 2, 0, 2)), **NONE),
    summary('classification_summary', (normal(4, 3), LABELS)),
    summary('classification_summary_number', (normal(4, 3), LABELS), label_num=3),
    summary('classification_summary_few', (normal(4, 3), LABELS), label_num=2),
    summary('classification_summary_many', (normal(4, 3), LABELS), label_num=5),
    summary('classification_summary_beta', (normal(4, 3), LABELS), label_num=3, beta=2.),
    summary('classification_summary_ignore', (normal(9, 3), integers(0, 3, 9)),
            (normal(4, 3, 2), integers(0, 3, 4, 2)), label_num=3, ignore_label=2),
    case('precision', lambda F, y, t: F.precision(y, t, label_num=3), (normal(4, 3), LABELS),
         **NONE),
    case('recall', lambda F, y, t: F.recall(y, t, label_num=3), (normal(4, 3), LABELS), **NONE),
    case('f1_score', lambda F, y, t: F.f1_score(y, t, label_num=3), (normal(4, 3), LABELS), **NONE),
    case('fbeta_score', lambda F, y, t: F.evaluation.classification_summary.fbeta_score(
        y, t, label_num=3, beta=.5), (normal(4, 3), LABELS), **NONE),
    case('r2_score', lambda F, p, t: F.r2_score(p, t), (normal(5), normal(5)),
         (normal(5, 3), normal(5, 3)), (normal(5, 3), constant(np.ones((5, 3)))), **NONE),
    case('r2_score_raw', lambda F, p, t: F.r2_score(p, t, multioutput='raw_values'),
         (normal(5), normal(5)), (normal(5, 3), normal(5, 3)), **NONE),
]

ERRORS = [
    error('accuracy_y', lambda F, y, t: F.accuracy(y, t), (integers(0, 3, 4, 3), LABELS)),
    error('accuracy_t', lambda F, y, t: F.accuracy(y, t), (normal(4, 3), normal(4))),
    error('accuracy_length', lambda F, y, t: F.accuracy(y, t), (normal(3, 3), LABELS)),
    error('accuracy_rest', lambda F, y, t: F.accuracy(y, t), (normal(4, 3, 2), LABELS)),
    error('accuracy_shape', lambda F, y, t: F.accuracy(y, t),
          (normal(4, 3, 2), integers(0, 3, 4, 3))),
    error('binary_accuracy_y', lambda F, y: F.binary_accuracy(y, y), integers(0, 3, 4)),
    error('binary_accuracy_t', lambda F, y: F.binary_accuracy(y, y), normal(4)),
    error('binary_accuracy_shape', lambda F, y, t: F.binary_accuracy(y, t), (normal(4, 3), LABELS)),
    error('classification_summary_y', lambda F, y, t: F.classification_summary(y, t),
          (integers(0, 3, 4, 3), LABELS)),
    error('classification_summary_t', lambda F, y, t: F.classification_summary(y, t),
          (normal(4, 3), normal(4))),
    error('classification_summary_length', lambda F, y, t: F.classification_summary(y, t),
          (normal(3, 3), LABELS)),
    error('r2_score', lambda F, x: F.r2_score(x, x), integers(0, 3, 4)),
    error('r2_score_shape', lambda F, p, t: F.r2_score(p, t), (normal(3), normal(4))),
    error('r2_score_multioutput', lambda F, x: F.r2_score(x, x, multioutput='foo'), normal(3),
          'ValueError', 'multioutput'),
    error('r2_score_weight', lambda F, x: F.r2_score(x, x, sample_weight=x), normal(3),
          'NotImplementedError', 'sample_weight'),
]
