"""The evaluation trace of the textbooks: f(x1, x2) = ln(x1) + x1 x2 - sin(x2) at (2, 5), forwards and backwards."""

import tapegrad as torch
from tapegrad.teach import print_tape

x1 = torch.tensor(2.0, requires_grad=True)
x2 = torch.tensor(5.0, requires_grad=True)
y = x1.log() + x1 * x2 - x2.sin()

print("Read downwards, this is the computation; the adjoints, read upwards, are the reverse sweep.\n")
print_tape(y, {"x1": x1, "x2": x2, "y": y})

y.backward()
print(f"\ndf/dx1 = {x1.grad.item():.4f}, df/dx2 = {x2.grad.item():.4f}")
