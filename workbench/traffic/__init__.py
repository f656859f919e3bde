"""What went over the wire: the trace, its pictures, HAR, and what recordings say of the provider."""
