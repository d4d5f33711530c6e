"""Sounds as numbers: WAV files, mu-law, and invented tones."""
import wave

import numpy as np


def read_wav(path):
    """Return the first channel of a file with 16 bits a sample, values from -1 to 1."""
    with wave.open(str(path)) as file:
        if file.getsampwidth() != 2:
            raise ValueError(f'{path} does not have 16 bits a sample')
        samples = np.frombuffer(file.readframes(file.getnframes()), '<i2')
        return samples[::file.getnchannels()].astype(np.float32) / 32768


def write_wav(path, samples, rate):
    with wave.open(str(path), 'wb') as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes((samples.clip(-1, 1) * 32767).astype('<i2').tobytes())


def mu_law(samples, n_levels=256):
    """Return numbers of levels that lie closer to each other where the sound is soft."""
    mu = n_levels - 1
    compressed = np.sign(samples) * np.log1p(mu * np.abs(samples)) / np.log1p(mu)
    return np.round((compressed + 1) / 2 * mu).astype(np.int32)


def inverse_mu_law(levels, n_levels=256):
    """Return the samples in the middle of levels."""
    mu = n_levels - 1
    compressed = levels.astype(np.float32) / mu * 2 - 1
    return np.sign(compressed) * np.expm1(np.abs(compressed) * np.log1p(mu)) / mu


def make_tones(n, length, rate, seed=0):
    """Return invented sounds, an array of the shape (n, length): tones with one overtone."""
    rng = np.random.RandomState(seed)
    time = np.arange(length) / rate
    frequency = rng.choice([220., 277.2, 329.6, 440.], (n, 1))
    phase = rng.uniform(0, 2 * np.pi, (n, 1))
    wave = 2 * np.pi * frequency * time + phase
    return (0.5 * np.sin(wave) + 0.2 * np.sin(2 * wave)).astype(np.float32)
