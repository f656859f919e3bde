"""What a mobile-money payment is: values in, values out.

Nothing in here reads a clock, a file, a socket or a source of chance; the present moment and
the seed's draws arrive as arguments.
"""
