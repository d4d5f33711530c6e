"""Numbers of the user's that a recording does not know yet: a weight, a slope, a temperature.

In: a Python number among the attributes of a function. Out: inputs of the program, 0-dimensional
arrays, with the Python expression that gives them. What may not happen: a recorded value that
another number would have made different. So whatever wants to know the number is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainwright.ir.frozen import Unknown

from .recarray import RecArray
from .recorder import Recorder

#: ``input(text, dtype)``: the recording array of an input.
MakeInput = Callable[[str, np.dtype[Any]], RecArray]


class Number(Unknown):
    """A number that other calls have another value for.

    Arithmetic with numbers gives numbers, with arrays it gives arrays.

    Args:
        recorder (Recorder): Ended where somebody wants to know the number.
        text (str): The Python expression that gives it.
        make_input: Makes an input of the program for the expression and a dtype.
    """

    __slots__ = ("_make_input", "_recorder", "text")

    def __init__(self, recorder: Recorder, text: str, make_input: MakeInput) -> None:
        self._recorder, self.text, self._make_input = recorder, text, make_input

    def astype(self, dtype: Any) -> RecArray:
        """The number as a scalar of a dtype."""
        return self._make_input(self.text, np.dtype(dtype))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        arrays = [i for i in inputs if isinstance(i, (np.ndarray, np.generic, RecArray))]
        if method != "__call__" or not arrays or ufunc is np.power:
            self.refuse()  # NumPy computes some powers by other means
        # What NumPy makes of a Python number among arrays of floats: it takes their dtype.
        dtype = np.result_type(*[a.dtype for a in arrays])
        if dtype.kind != "f":
            self.refuse()
        return ufunc(*[i.astype(dtype) if type(i) is Number else i for i in inputs], **kwargs)

    def refuse(self, *_: Any) -> Any:
        self._recorder.escape("the value of a number is needed")
        raise TypeError("this number differs from call to call; nobody may look at its value")

    __bool__ = __int__ = __float__ = __index__ = __hash__ = __str__ = __repr__ = refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = refuse
    __array__ = __array_function__ = __len__ = __iter__ = __round__ = refuse
    __format__ = __getitem__ = __reduce_ex__ = __trunc__ = __floor__ = __ceil__ = refuse


def _binary(symbol: str) -> tuple[Any, Any]:
    def apply(self: Number, a: Any, b: Any) -> Any:
        for x in (a, b):
            if isinstance(x, (np.ndarray, np.generic, RecArray)):
                return NotImplemented
            if type(x) not in (Number, int, float):
                return self.refuse()
        left, right = (x.text if type(x) is Number else repr(x) for x in (a, b))
        return Number(self._recorder, f"({left} {symbol} {right})", self._make_input)

    return (
        lambda self, other: apply(self, self, other),
        lambda self, other: apply(self, other, self),
    )


for _name, _symbol, _ufunc in (
    ("add", "+", np.add),
    ("sub", "-", np.subtract),
    ("mul", "*", np.multiply),
    ("truediv", "/", np.true_divide),
):

    def _operators(symbol: str = _symbol, ufunc: np.ufunc = _ufunc) -> tuple[Any, Any]:
        plain, reflected = _binary(symbol)

        def forward(self: Number, other: Any) -> Any:
            made = plain(self, other)
            return ufunc(self, other) if made is NotImplemented else made

        def backward(self: Number, other: Any) -> Any:
            made = reflected(self, other)
            return ufunc(other, self) if made is NotImplemented else made

        return forward, backward

    _forward, _backward = _operators()
    setattr(Number, f"__{_name}__", _forward)
    setattr(Number, f"__r{_name}__", _backward)
