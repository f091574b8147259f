"""What the models of several files have in common, so that they share compiled code.

Compiling a model takes seconds, fitting one of these less than one. Two models share
what is compiled when rows, hidden units, plan and the numbers that rules claim are the
same; data, noise, seeds, names and regions may differ.
"""

import numpy as np

from ocbnn import NUTS, SMC

X = np.linspace(-2.0, 2.0, 20)[:, None]
CHAINS = NUTS(chains=2, warmup=150, draws=100, max_depth=5)
POPULATIONS = SMC(particles=40, moves=1, steps=5, polish=1, chains=2)
