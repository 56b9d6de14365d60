"""WeightNormSGD: SGD on (g, v) with x = g·v/‖v‖, for the blocks of parameters."""

from __future__ import annotations

from ._optimizer import ScaleDirectionOptimizer


class WeightNormSGD(ScaleDirectionOptimizer):
    """Weight normalization with SGD: every block is x = g·v/‖v‖, both g and v trained.

    With G the gradient by the weights and ŵ = v/‖v‖: v ← v − lr·(g/‖v‖)(G − ŵ⟨G, ŵ⟩),
    g ← g − scale_ratio·lr·⟨G, ŵ⟩. It starts from v = the parameter and g = its block norms, and so
    makes the steps of torch.nn.utils.parametrizations.weight_norm with torch.optim.SGD; but the
    model stays plain: g, v and ‖v‖ live in the optimiser's state. It is `weightnorm.WeightNorm`
    with initial_norm = ‖block‖; the theory's c is scale_ratio·‖v0‖².

    Parameters
    ----------
    params : iterable of parameters, or of dicts with "params" and any of the options below
    lr : float or tensor of one element
        η, the step of v; any torch scheduler moves it.
    scale_ratio : float or tensor of one element
        The step of g over that of v. 0 freezes the scales, bit by bit; see `FreezeThaw`.
    dim, momentum, nesterov, scale_weight_decay, maximize, foreach, differentiable, vectors
        See `RPGD`. v is not decayed: that pulls on no weight, and shrinks ‖v‖ until steps are
        unstable.
    eps : float
        A norm at or under it counts as zero. A block of zeros starts with g = 0 and a v of length
        1: −G/‖G‖ for its first gradient G (equal entries if that is zero too).

    Examples
    --------
    >>> import torch
    >>> from weightnorm.torch import WeightNormSGD
    >>> layer = torch.nn.Linear(3, 2)
    >>> optimizer = WeightNormSGD(layer.parameters(), lr=0.1)
    >>> before = layer.weight.norm(dim=1, keepdim=True)
    >>> layer(torch.ones(4, 3)).square().sum().backward()
    >>> optimizer.step()
    >>> bool((optimizer.state[layer.weight]["direction_norm"] >= before).all())  # it only grows
    True
    """

    normalises = False
