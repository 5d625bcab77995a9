"""The hot code: counter-based uniforms and the compiled event loops."""
