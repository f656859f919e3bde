"""Traffic over the wire: the trace, its pictures, HAR, and evidence about the provider in recordings."""
