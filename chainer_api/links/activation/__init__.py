"""Activation functions with parameters."""
