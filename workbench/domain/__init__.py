"""The rules of a mobile-money payment, as pure functions and values.

Nothing here reads a clock, a file, a socket or a source of randomness; the present moment and the seed's draws are
arguments.
"""
