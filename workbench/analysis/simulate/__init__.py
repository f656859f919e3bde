"""A month of a merchant's life, driven through the service, and the statements that its operators make of it."""

from workbench.analysis.simulate.simulation import MAX_DAYS, MAX_PAYMENTS, Simulation, simulate
from workbench.analysis.simulate.traffic import Traffic
from workbench.analysis.simulate.wanted import breaks_from

__all__ = ["MAX_DAYS", "MAX_PAYMENTS", "Simulation", "Traffic", "breaks_from", "simulate"]
