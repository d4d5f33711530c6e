"""Numbers that a recording does not know are inputs of the program."""

import operator

import numpy as np
import pytest

from chainwright.tracer import Number, RecArray, Recorder


def made():
    """A recorder, a number, an array and the list of inputs that get made."""
    rec, inputs = Recorder(), {}

    def make_input(text, dtype):
        if (text, dtype) not in inputs:
            array = np.zeros((), dtype)
            rec.input(array, f"n{len(inputs)}", "argument")
            inputs[text, dtype] = array
        return rec.wrap(inputs[text, dtype])

    x = np.ones(3, "f")
    rec.input(x, "x", "argument")
    return rec, Number(rec, "n[0]", make_input), rec.wrap(x), inputs


@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv"])
@pytest.mark.parametrize("swapped", [False, True])
def test_arithmetic_with_arrays_takes_their_dtype(name, swapped):
    rec, number, x, inputs = made()
    with np.errstate(all="ignore"):
        y = getattr(operator, name)(*((x, number) if swapped else (number, x)))
    assert type(y) is RecArray
    assert rec.live
    assert y.dtype == np.float32
    assert [*inputs] == [("n[0]", np.dtype("f"))]


def test_arithmetic_with_numbers_is_pythons():
    rec, number, x, inputs = made()
    y = (1 - number) / 2 * x
    assert y.dtype == np.float32
    (text, dtype), = inputs
    assert eval(text, {"n": (0.25,)}) == (1 - 0.25) / 2
    assert dtype == np.float32
    assert rec.live


@pytest.mark.parametrize(
    "look",
    [
        float, int, bool, str, repr, hash, abs, len, list, operator.index, round,
        lambda n: n == 1, lambda n: n > 0, lambda n: {n: 1}, lambda n: f"{n}",
        lambda n: np.float32(n), lambda n: np.asarray(n), lambda n: np.sqrt(n),
        lambda n: n**2, lambda n: 2**n, lambda n: n // 2, lambda n: "a" * n,
        lambda n: np.arange(3) * n, lambda n: np.full(3, n), lambda n: max(n, 1),
    ],
)  # fmt: skip
def test_looking_at_the_value_is_refused(look):
    rec, number, x, inputs = made()
    with pytest.raises(Exception):  # noqa: B017 - whatever Python makes of it
        look(number)


@pytest.mark.parametrize(
    "use",
    [
        lambda x, n: x**n,
        lambda x, n: np.power(x, n),
        lambda x, n: np.where(x > 0, x, n),
        lambda x, n: np.clip(x, 0, n),
        lambda x, n: x.sum(axis=n),
        lambda x, n: (x > 0) * n,
        lambda x, n: x.astype("i") + n,
        lambda x, n: x[n],
    ],
)
def test_uses_that_depend_on_more_than_the_dtype_are_refused(use):
    rec, number, x, inputs = made()
    with pytest.raises(Exception):  # noqa: B017
        use(x, number)


def test_no_operation_takes_one_for_a_setting():
    """It would be a constant of the program."""
    rec, number, x, _ = made()
    with pytest.raises(TypeError, match="differs from call to call"):
        rec.emit("mean", (x,), axis=number)
    assert not rec.live

    rec, number, x, _ = made()
    with pytest.raises(TypeError, match="differs from call to call"):
        RecArray.__chainwright_op__(x, "roi_average", lambda *args, **kwargs: x.held, (
            x, x, x), {"outsize": (2, 2), "spatial_scale": number})
    assert not rec.live
