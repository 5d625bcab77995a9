"""Pure mathematics of the job model on SI numbers: no I/O, no device code, no global state."""
