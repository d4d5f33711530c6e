"""The printed form."""

import numpy as np
import pytest
from ir_graphs import Building, array, at, layer

from chainwright.ir import Slot, build, constant
from chainwright.ir.node import dtype_of, dtype_text

LAYER = """\
graph layer
  %x: f32[100,784] = argument
  %W: f32[1000,784] = parameter
  %b: f32[1000] = parameter
  %1: f32[784,1000]{1,0} = transpose %W                     # net.py:14 linear
  %2: f32[100,1000] = dot %x %1                             # net.py:14 linear
  kernel 0
    %3: f32[100,1000] = add %2 %b                           # net.py:14 linear
    %4: f32[100,1000] = maximum %3 0.0                      # net.py:15 relu
  return %4, %x, %W, %4"""

BACKWARD = """\
graph layer backward
  %x: f32[100,784] = saved
  %W: f32[1000,784] = saved
  %saved2: f32[100,1000] = saved
  %gh: f32[100,1000] = gradient
  kernel 0
    %1: bool[100,1000] = greater %saved2 0.0                # net.py:15 relu
    %2: f32[100,1000] = multiply %gh %1                     # net.py:15 relu
  %3: f32[100,784] = dot %2 %W                              # net.py:14 linear
  %4: f32[1000,100]{1,0} = transpose %2
  %5: f32[1000,784] = dot %4 %x
  %6: f32[1000] = sum %2 axis=0
  return %3, %5, %6"""

MANY = """\
graph graph
  %x: f32[3,4]{strides 32,4} = argument
  %state: f64[4] = state
  %model: object = object
! %1: f64[3,4] = random args=(3, 4) fn='rand'               # net.py:9 dropout
  %2: f64[3,4] = where True %x f64[](1.0)
  %3: f32[2,3] = getitem %x constant i64[2] [<0>, 1:]
  %4: f32[3,2]{strides 32,-8} = getitem %x [..., ::-2]
  %5: f32[] = sum %x axis=(0, 1)
  %6: f64[4] = multiply %state f64[](0.9)
! %7: tuple = host %model %1 fn=builtins.divmod label='divmod' n_outputs=2
  %8: f32[] = pick %7 k=0
  %9: f64[3,4] = cast %x
! %10 = write %state %6
  return %8, 2.5"""


def test_the_layer_after_build():
    forward, backward = layer()
    built = build(forward, {"all": backward})
    assert str(built.forward) == LAYER
    assert str(built.backwards["all"]) == BACKWARD
    assert built.log == ("saved: 3 values, 3849600 bytes",)


def test_effects_layouts_indices_and_leaves():
    from chainwright.ir import literal, placeholder

    x = array("x", 3, 4, strides=(32, 4))
    state = array("state", 4, dtype="f8", kind="state")
    model = placeholder("model", None, None, kind="object")
    b = Building()
    drawn = b.random(fn="rand", args=(3, 4), shape=(3, 4), dtype="f8", origin=at(9, "dropout"))
    b.where(True, x, constant(np.float64(1)), dtype="f8", strides=(32, 8))
    b.getitem(x, constant(np.array([0, 2])), index=(Slot(0), slice(1, None)))
    b.getitem(x, index=(..., slice(None, None, -2)))
    b.sum(x, axis=(0, 1))
    decayed = b.multiply(state, constant(np.float64(0.9)))
    pair = b.host(model, drawn, fn=divmod, label="divmod", n_outputs=2)
    first = b.pick(pair, k=0, shape=(), dtype="f4")
    b.cast(x, dtype="f8")
    b.write(state, decayed)
    assert str(b.graph((x, state, model), first, literal(2.5))) == MANY


@pytest.mark.parametrize("char", "?" + np.typecodes["AllInteger"] + np.typecodes["AllFloat"])
def test_a_dtype_comes_back_from_its_name(char):
    dtype = np.dtype(char)
    assert dtype_of(dtype_text(dtype)) == dtype
