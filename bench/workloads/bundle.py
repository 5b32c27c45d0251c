"""ADBench's bundle adjustment, float64: the gradient of the sum of squared residuals."""

from __future__ import annotations

from typing import Any

import numpy as np

from .declare import Workload, gradient_of, jax_gradient_of


def _inputs(cameras: int, points: int, observations: int) -> list[np.ndarray]:
    """Return cameras (rotation 3, centre 3, focal, principal point 2, radial 2), points, weights, features, and who sees what."""
    generator = np.random.default_rng(0)
    camera = np.concatenate(
        (
            0.1 * generator.normal(size=(cameras, 3)),
            generator.normal(size=(cameras, 3)) - [0, 0, 10],
            generator.uniform(1, 2, (cameras, 1)),
            0.1 * generator.normal(size=(cameras, 2)),
            0.01 * generator.normal(size=(cameras, 2)),
        ),
        axis=1,
    )
    camera[0, :3] = 0  # not turned
    number = np.arange(observations)
    return [
        camera,
        generator.normal(size=(points, 3)),
        generator.uniform(0.5, 1.5, observations),
        generator.normal(size=(observations, 2)),
        number % cameras,
        number % points,
    ]


def _loss(torch: Any, cameras: Any, points: Any, weights: Any, features: Any, camera_of: Any, point_of: Any) -> Any:
    camera, point = cameras[camera_of], points[point_of]
    rotation, offset = camera[:, :3], point - camera[:, 3:6]
    # Rodrigues' formula; where the angle is zero, its limit (`where` keeps 0/0 out of the gradient).
    square = (rotation**2).sum(1, keepdim=True)
    turned = square != 0
    angle = torch.sqrt(torch.where(turned, square, 1.0))
    axis = rotation / angle
    cosine, sine = torch.cos(angle), torch.sin(angle)
    along = (axis * offset).sum(1, keepdim=True) * (1 - cosine)
    rotated = offset * cosine + torch.linalg.cross(axis, offset) * sine + axis * along
    seen = torch.where(turned, rotated, offset + torch.linalg.cross(rotation, offset))
    # Projection with radial distortion.
    flat = seen[:, :2] / seen[:, 2:]
    radius = (flat**2).sum(1, keepdim=True)
    distorted = flat * (1 + camera[:, 9:10] * radius + camera[:, 10:11] * radius**2)
    projected = distorted * camera[:, 6:7] + camera[:, 7:9]
    residuals = weights[:, None] * (projected - features)
    return (residuals**2).sum() + ((1 - weights**2) ** 2).sum()


def _loss_jax(cameras: Any, points: Any, weights: Any, features: Any, camera_of: Any, point_of: Any) -> Any:
    import jax

    numpy = jax.numpy

    def residuals(camera: Any, point: Any, weight: Any, feature: Any) -> Any:
        rotation, offset = camera[:3], point - camera[3:6]
        square = (rotation**2).sum()
        turned = square != 0
        angle = numpy.sqrt(numpy.where(turned, square, 1.0))
        axis = rotation / angle
        cosine, sine = numpy.cos(angle), numpy.sin(angle)
        rotated = offset * cosine + numpy.cross(axis, offset) * sine + axis * (axis @ offset) * (1 - cosine)
        seen = numpy.where(turned, rotated, offset + numpy.cross(rotation, offset))
        flat = seen[:2] / seen[2]
        radius = flat @ flat
        projected = flat * (1 + camera[9] * radius + camera[10] * radius**2) * camera[6] + camera[7:9]
        return weight * (projected - feature)

    reprojection = jax.vmap(residuals)(cameras[camera_of], points[point_of], weights, features)
    return (reprojection**2).sum() + ((1 - weights**2) ** 2).sum()


def _workload(observations: int, over_torch: float, over_jax: float) -> Workload:
    return Workload(
        name=f"bundle_{observations}",
        title=f"bundle adjustment, {observations:,} observations, gradients",
        make=gradient_of(_inputs, _loss, 3),
        make_jax=jax_gradient_of(_inputs, _loss_jax, 3),
        sizes={"cameras": observations // 100, "points": observations // 10, "observations": observations},
        small={"cameras": 3, "points": 5, "observations": 12},
        tolerance=1e-9,
        required={"torch": over_torch, "jax": over_jax},
    )


WORKLOADS = [_workload(1_000, 6, 1.3), _workload(10_000, 4, 2)]
