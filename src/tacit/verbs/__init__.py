"""What one can ask: limit, flow, regime, certify and the others; here limits and flows meet."""
