"""Normalizations with parameters."""
