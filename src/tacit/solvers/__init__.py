"""Where gradient flow ends: convex programs, solved to the last digits."""
