"""Single steps of stiff integrators, each made for one structure of the Jacobian."""
