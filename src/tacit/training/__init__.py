"""How networks are trained in practice: along the saddle path, with decay, with steps and noise."""
