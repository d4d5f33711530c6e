"""Watches arrays flow through one call and writes down what happened."""
