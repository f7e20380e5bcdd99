"""Training in practice: the saddle path, weight decay, finite steps and noise."""
