"""Public functions: limit, flow, regime, certify and others. Only here do solvers and flows meet."""
