"""Formulations of a flow: in mirror space, raw weights, a smaller network, or linearized."""
