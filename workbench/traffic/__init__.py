"""HTTP traffic: the trace, its pictures, HAR files, and evidence about the provider in recordings."""
