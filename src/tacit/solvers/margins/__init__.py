"""Which of all separating predictors: the largest margin in a norm or a potential."""
