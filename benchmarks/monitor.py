r"""The cost of a monitor: training of a network of the size used on MNIST, with and without it.

784 inputs, 5,000 hidden units, 10 classes in PyTorch, batches of 128 by stochastic gradient descent, on
random inputs of that shape (the time does not depend on their values). The cost is the time that
`Monitor.record` took, as a share of the time of the loop without it.

    python benchmarks/monitor.py --steps 1000
    python benchmarks/monitor.py --steps 300 --hidden 2000
"""

from __future__ import annotations

import argparse
import time

import torch

import tacit


def main() -> None:
    """Train with and without monitor, and print the cost."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--hidden", type=int, default=5000)
    parser.add_argument("--batch", type=int, default=128)
    options = parser.parse_args()
    torch.manual_seed(0)
    module = torch.nn.Sequential(
        torch.nn.Linear(784, options.hidden), torch.nn.ReLU(), torch.nn.Linear(options.hidden, 10)
    )
    X, y = torch.rand(10_000, 784), torch.randint(10, (10_000,))
    optimizer = torch.optim.SGD(module.parameters(), lr=0.05)
    spent, begun = 0.0, time.perf_counter()
    with tacit.Monitor(tacit.Network.from_torch(module), X[:1000]) as monitor:
        spent += time.perf_counter() - begun
        begun = time.perf_counter()
        for step in range(options.steps):
            batch = torch.randint(len(X), (options.batch,))
            loss = torch.nn.functional.cross_entropy(module(X[batch]), y[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            before = time.perf_counter()
            monitor.record(step + 1, loss=loss.detach())
            spent += time.perf_counter() - before
    total = time.perf_counter() - begun
    print(monitor.summary())
    training = total - spent
    print(f"{options.steps:,} steps in {training:.1f} s ({1000 * training / options.steps:.0f} ms each)")
    print(f"{len(monitor)} records in {spent:.1f} s: {100 * spent / training:.1f}% of training")


if __name__ == "__main__":
    main()
