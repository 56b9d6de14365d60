"""The same runs as a good user of each tool would write them, in full coordinates unless the name
says otherwise.

Each function takes the data, the starts and the scales of its runs, and returns the number of steps
of every run. They share no code with weightnorm: two of them double as its references in the tests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .twin import plain_run

Array = NDArray[np.float64]
METHODS = ("gd", "wn", "rpgd")


def numpy_loop(
    method: str,
    A: Array,
    y: Array,
    w0: Array,
    g0: float,
    step: float,
    tolerance: float,
    max_steps: int,
) -> tuple[int, Array]:
    """One run, one plain loop; the number of steps and the final weights."""
    both = (step, step)
    end = plain_run(
        method, A, y, g0, w0, lambda t, g, n: both, tolerance=tolerance, max_steps=max_steps
    )
    return end["num_steps"], end["weights"]


def numpy_batched(
    method: str, A: Array, y: Array, W: Array, g: Array, step: float, tolerance: float
) -> Any:
    """All runs as the rows of one matrix, finished ones dropped."""
    AT = np.ascontiguousarray(A.T)
    steps = np.zeros(len(g), dtype=np.int64)
    left = np.arange(len(g))
    W = W / np.linalg.norm(W, axis=1, keepdims=True)
    X = g[:, None] * W
    t = 0
    while left.size:
        norm = np.linalg.norm(W, axis=1) if method == "wn" else None
        if method != "gd":
            X = (g if norm is None else g / norm)[:, None] * W
        R = X @ AT - y
        done = 0.5 * np.einsum("ij,ij->i", R, R) <= tolerance
        if done.any():
            steps[left[done]] = t
            keep = ~done
            left, W, X, g, R = left[keep], W[keep], X[keep], g[keep], R[keep]
            norm = None if norm is None else norm[keep]
        G = R @ A
        if method == "gd":
            X -= step * G
        elif norm is not None:
            s = np.einsum("ij,ij->i", W, G) / norm
            G -= (s / norm)[:, None] * W
            W -= (step * g / norm)[:, None] * G
            g = g - step * s
        else:
            s = np.einsum("ij,ij->i", W, G)
            W = W - (step * g)[:, None] * G
            W /= np.linalg.norm(W, axis=1)[:, None]
            g = g - step * s
        t += 1
    return steps


def numpy_sensing_loop(
    sensors: Array, y: Array, W: Array, g: float, step: float, num_steps: int
) -> tuple[float, Array]:
    """One-scale rPGD on matrix sensing, one plain loop; the final scale and factor."""
    m, d, _ = sensors.shape
    S = (0.5 * (sensors + sensors.transpose(0, 2, 1))).reshape(m, -1)
    W = W / np.linalg.norm(W)
    for _ in range(num_steps):
        e = S @ (g * (W @ W.T)).ravel() - y
        MW = (e @ S).reshape(d, d) @ W / m
        slope = float(np.vdot(W, MW))
        W = W - 2.0 * step * g * MW
        W = W / np.linalg.norm(W)
        g = g - step * slope
    return g, W


def jax_sensing_solver(
    sensors: Array, y: Array, step: float, num_steps: int
) -> Callable[[Array, Array], Any]:
    """The same, jit(vmap(fori_loop)) over runs, float64."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    jax.config.update("jax_enable_x64", True)
    m, d, _ = sensors.shape
    S, right = (
        jnp.asarray((0.5 * (sensors + sensors.transpose(0, 2, 1))).reshape(m, -1)),
        jnp.asarray(y),
    )

    def single(W: Any, g: Any) -> Any:
        def body(_: Any, state: Any) -> Any:
            W, g = state
            e = S @ (g * (W @ W.T)).ravel() - right
            MW = (e @ S).reshape(d, d) @ W / m
            slope = jnp.vdot(W, MW)
            W = W - 2.0 * step * g * MW
            return W / jnp.linalg.norm(W), g - step * slope

        return lax.fori_loop(0, num_steps, body, (W / jnp.linalg.norm(W), g))

    compiled = jax.jit(jax.vmap(single))
    return lambda W, g: np.asarray(compiled(jnp.asarray(W), jnp.asarray(g))[1])


def jax_solver(
    method: str, A: Array, y: Array, step: float, tolerance: float
) -> Callable[[Array, Array], Any]:
    """A compiled jit(vmap(while_loop)) over runs, float64."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    A_, y_ = jnp.asarray(A), jnp.asarray(y)
    return _jax_compile(method, lambda x: A_ @ x - y_, lambda r: A_.T @ r, step, tolerance)


def jax_reduced_solver(
    method: str, singular: Array, target: Array, step: float, tolerance: float
) -> Callable[[Array, Array], Any]:
    """The same loop, given weightnorm's own reduced coordinates: a diagonal A and one free
    coordinate.
    """
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    s, right = (
        jnp.append(jnp.asarray(singular), 0.0),
        jnp.append(jnp.asarray(singular * target), 0.0),
    )
    return _jax_compile(method, lambda x: s * x - right, lambda r: s * r, step, tolerance)


def _jax_compile(
    method: str,
    residual: Callable[[Any], Any],
    adjoint: Callable[[Any], Any],
    step: float,
    tolerance: float,
) -> Callable[[Array, Array], Any]:
    import jax
    import jax.numpy as jnp
    from jax import lax

    def single(w: Any, g: Any) -> Any:
        w = w / jnp.linalg.norm(w)

        def weights(state: Any) -> Any:
            w, g, _, _ = state
            if method == "gd":
                return w
            return g * w / jnp.linalg.norm(w) if method == "wn" else g * w

        def body(state: Any) -> Any:
            w, g, r, t = state
            G = adjoint(r)
            if method == "gd":
                new = (w - step * G, g, r, t + 1)
            else:
                n = jnp.linalg.norm(w) if method == "wn" else 1.0
                s = (w / n) @ G
                v = w - step * (g / n) * (G - s * w / n) if method == "wn" else w - step * g * G
                new = (v if method == "wn" else v / jnp.linalg.norm(v), g - step * s, r, t + 1)
            return (new[0], new[1], residual(weights(new)), new[3])

        start = (g * w if method == "gd" else w, g, jnp.zeros(()), 0)
        start = (start[0], start[1], residual(weights(start)), 0)
        return lax.while_loop(lambda state: 0.5 * (state[2] @ state[2]) > tolerance, body, start)[3]

    compiled = jax.jit(jax.vmap(single))
    return lambda W, g: np.asarray(compiled(jnp.asarray(W), jnp.asarray(g)))


def torch_weight_norm(
    A: Array, y: Array, w0: Array, g0: float, step: float, num_steps: int
) -> None:
    """PyTorch's weight_norm parametrisation with SGD: num_steps steps of one run."""
    import torch

    torch.set_default_dtype(torch.float64)
    layer = torch.nn.Linear(A.shape[1], 1, bias=False)
    layer = torch.nn.utils.parametrizations.weight_norm(layer, dim=0)
    with torch.no_grad():
        layer.parametrizations.weight.original0.fill_(g0)
        layer.parametrizations.weight.original1.copy_(
            torch.as_tensor(w0 / np.linalg.norm(w0))[None]
        )
    data, target = torch.as_tensor(A), torch.as_tensor(y)[:, None]
    optimizer = torch.optim.SGD(layer.parameters(), lr=step)
    for _ in range(num_steps):
        optimizer.zero_grad()
        loss = 0.5 * ((layer(data) - target) ** 2).sum()
        loss.backward()
        optimizer.step()
        loss.item()


def geoopt_sphere(A: Array, y: Array, w0: Array, g0: float, step: float, num_steps: int) -> None:
    """Geoopt's RiemannianSGD on a sphere times a scale: num_steps steps of one run."""
    import geoopt
    import torch

    torch.set_default_dtype(torch.float64)
    w = geoopt.ManifoldParameter(torch.as_tensor(w0 / np.linalg.norm(w0)), manifold=geoopt.Sphere())
    g = torch.nn.Parameter(torch.tensor(g0))
    data, target = torch.as_tensor(A), torch.as_tensor(y)
    optimizer = geoopt.optim.RiemannianSGD([w, g], lr=step)
    for _ in range(num_steps):
        optimizer.zero_grad()
        loss = 0.5 * ((data @ (g * w) - target) ** 2).sum()
        loss.backward()
        optimizer.step()
        loss.item()
