"""The rules of a mobile-money payment: values in, values out.

Nothing in here reads a clock, a file, a socket or a source of chance; the present moment and
the seed's draws arrive as arguments.
"""
