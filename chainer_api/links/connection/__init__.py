"""Connections with parameters."""
