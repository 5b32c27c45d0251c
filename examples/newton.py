"""Newton's method on the Rosenbrock function: gradients of gradients make the Hessian."""

import tapegrad as torch


def rosenbrock(x):
    """Return the function's value; its minimum is 0, at (1, 1)."""
    return (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2


x = torch.tensor([-1.2, 1.0], dtype=torch.float64, requires_grad=True)
for step in range(7):
    value = rosenbrock(x)
    (gradient,) = torch.autograd.grad(value, x, create_graph=True)
    (a, b), (_, d) = [torch.autograd.grad(part, x, retain_graph=True)[0] for part in gradient]
    print(f"step {step}: x = ({x[0].item():.6f}, {x[1].item():.6f}), f(x) = {value.item():.3e}")
    with torch.no_grad():  # solve the 2 by 2 system for the step, by Cramer's rule
        x -= torch.stack([d * gradient[0] - b * gradient[1], a * gradient[1] - b * gradient[0]]) / (a * d - b * b)
