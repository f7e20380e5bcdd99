"""From a parametrization to its potential: `derive` (needs JAX) and `closed_form` (needs SymPy, not JAX)."""
