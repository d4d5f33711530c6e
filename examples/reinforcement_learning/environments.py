"""Two small worlds to act in.

Each has ``reset()``, which returns the first observation, and ``step(action)``, which returns the
next observation, the reward, and whether the episode is over.
"""
import math

import numpy as np


class CartPole:
    """A pole on a cart, to be balanced by pushing the cart to the left (0) or to the right (1).

    The physics is that of A. G. Barto, R. S. Sutton and C. W. Anderson, "Neuronlike adaptive
    elements that can solve difficult learning control problems" (1983). There is a reward of 1 for
    each step until the pole leans by 12 degrees or the cart is 2.4 away, for 200 steps at most.
    """

    n_observation = 4
    n_action = 2
    max_steps = 200

    def __init__(self, seed=0):
        self.rng = np.random.RandomState(seed)

    def reset(self):
        self.state = self.rng.uniform(-0.05, 0.05, 4)
        self.n_steps = 0
        return self.state.astype(np.float32)

    def step(self, action, gravity=9.8, mass=1.1, mass_pole=0.1, half_length=0.5, dt=0.02):
        x, v, angle, turn = self.state
        force = 10. if action == 1 else -10.
        sine, cosine = math.sin(angle), math.cos(angle)
        push = (force + mass_pole * half_length * turn ** 2 * sine) / mass
        turned = (gravity * sine - cosine * push) / (
            half_length * (4 / 3 - mass_pole * cosine ** 2 / mass))
        moved = push - mass_pole * half_length * turned * cosine / mass
        self.state = np.array([x + dt * v, v + dt * moved, angle + dt * turn, turn + dt * turned])
        self.n_steps += 1
        fallen = abs(self.state[0]) > 2.4 or abs(self.state[2]) > math.radians(12)
        return self.state.astype(np.float32), 1., fallen or self.n_steps >= self.max_steps


class Pendulum:
    """A pendulum, to be swung up and held there by a torque between -2 and 2.

    The reward is the larger, the more upright and calm it is, and the less torque is used. An
    episode has 200 steps.
    """

    n_observation = 3
    n_action = 1
    max_torque = 2.
    max_steps = 200

    def __init__(self, seed=0):
        self.rng = np.random.RandomState(seed)

    def reset(self):
        self.angle = self.rng.uniform(-math.pi, math.pi)  # 0 is upright
        self.turn = self.rng.uniform(-1, 1)
        self.n_steps = 0
        return self._observe()

    def _observe(self):
        return np.array([math.cos(self.angle), math.sin(self.angle), self.turn], np.float32)

    def step(self, action, gravity=10., mass=1., length=1., dt=0.05):
        torque = float(np.clip(action, -self.max_torque, self.max_torque))
        angle = (self.angle + math.pi) % (2 * math.pi) - math.pi
        cost = angle ** 2 + 0.1 * self.turn ** 2 + 0.001 * torque ** 2
        turned = 1.5 * gravity / length * math.sin(self.angle) + 3 * torque / (mass * length ** 2)
        self.turn = float(np.clip(self.turn + dt * turned, -8, 8))
        self.angle += dt * self.turn
        self.n_steps += 1
        return self._observe(), -cost, self.n_steps >= self.max_steps
