"""Random programs of everything that people write, decorated and not, bit for bit.

``make fuzz N=20000`` runs many more; ``random_programs.py`` says what they are made of.
"""

import pytest
import random_programs
from random_programs import Program
from trust import check

import chainer.functions as F


@pytest.mark.slow
@pytest.mark.parametrize("group", range(20))
def test_programs(group):
    for seed in range(group * 15, group * 15 + 15):
        recipe = random_programs.program(seed)
        told = recipe.differs()
        assert told is None, f"seed {seed}: {told}\n{recipe.source()}"


def test_a_program_that_differs_is_found_and_made_small():
    """The check is sharp: one statement that gives something else is all that is left."""

    def fails(r):
        return any("F.split_axis" in s or "F.tanh" in s for s in r.statements)

    recipe = next(r for r in map(random_programs.program, range(100)) if fails(r))
    small = recipe.shrink(fails=fails)
    kept = [s for s in small.statements if not s.split(" = ")[1].startswith("v")]
    assert fails(recipe) and len(kept) == 1, small.source()
    compile(small.source(), "script", "exec")


def test_programs_are_the_same_for_a_seed():
    assert random_programs.program(17) == random_programs.program(17)
    recipe = random_programs.program(17)
    assert random_programs.difference(recipe.run(False), recipe.run(False)) is None


def test_a_change_of_the_last_bit_is_seen():
    recipe = random_programs.program(1)
    expected, actual = recipe.run(False), recipe.run(False)
    k = next(i for i, f in enumerate(actual[2]) if f[1] == "array" and f[2] == "float32")
    fact = actual[2][k]
    data = bytes([fact[-1][0] ^ 1]) + fact[-1][1:]
    actual[2][k] = (*fact[:-1], data)
    assert "call 3" in random_programs.difference(expected, actual)


def test_functions_that_draw_in_backward_run_in_its_order():
    """Each got the random numbers of another one (found as a random program)."""

    def make():
        class Model(Program):
            actions = (*["chained"] * 3, *["with_a_graph"] * 2, *["chained"] * 4, "with_a_graph")

            def forward(self, x, z):
                _held = self.bn(z) + self.bn(x)
                h = z + F.embed_id(self.labels[: len(z)], self.p)
                u = F.forget(lambda v: F.dropout(F.tanh(v), 0.4), h)
                g = F.gaussian(h, u)
                w = u
                if self.state is not None:
                    w = u + F.broadcast_to(F.mean(self.state, axis=0), u.shape)
                self.state = F.tanh(w)
                return F.where(self.mask[: len(w)], w, g * 2)

        return Model

    check(make, 10)
