"""Which of all predictors with X w = y: convex programs over equations, and how near their answers are."""
