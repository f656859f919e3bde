"""A month of a merchant's life, driven through the service, and the statements that its operators make of it."""

from workbench.analysis.simulate.kinds import breaks_from
from workbench.analysis.simulate.plan import Traffic
from workbench.analysis.simulate.simulation import MAX_DAYS, MAX_PAYMENTS, Simulation, simulate

__all__ = ["MAX_DAYS", "MAX_PAYMENTS", "Simulation", "Traffic", "breaks_from", "simulate"]
