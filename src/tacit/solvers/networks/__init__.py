"""Where flows of linear and leaky networks end, and how far from it they can."""
