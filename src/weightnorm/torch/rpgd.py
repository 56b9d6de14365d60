"""RPGD: projected gradient descent on the sphere, and a scale, for the blocks of parameters."""

from __future__ import annotations

from ._optimizer import ScaleDirectionOptimizer


class RPGD(ScaleDirectionOptimizer):
    """Reparametrised projected gradient descent: every block is x = g·w with ‖w‖ = 1.

    With G the gradient by the weights: w ← normalise(w − lr·g·G), g ← g − scale_ratio·lr·⟨G, w⟩.
    The model stays plain: g and w live in the optimiser's state, and the parameter is g·w after
    every step. It is `weightnorm.RPGD` block by block, with its c = scale_ratio. A block of one
    number has no direction: the number is the scale, and its step is lr·scale_ratio.

    Parameters
    ----------
    params : iterable of parameters, or of dicts with "params" and any of the options below
    lr : float or tensor of one element
        η, the step of the directions; any torch scheduler moves it.
    scale_ratio : float or tensor of one element
        c: the scales' step over the directions'. 0 freezes the scales, bit by bit; see
        `FreezeThaw`. A tensor can change without compiling again.
    dim : int, tuple of ints, or None
        The axes that count the blocks: 0 for one scale per row (per output channel of a
        convolution; for a transposed convolution that is 1), -1 for the last axis, a tuple for
        several, None for one scale in all.
    momentum, nesterov
        As in torch.optim.SGD, for w and for g; the buffer of w is neither projected nor rescaled.
    scale_weight_decay : float
        μ: ⟨G, w⟩ + μg in place of ⟨G, w⟩. There is no decay of w: the sphere undoes it. A
        `weight_decay` in a group is refused, unless it is 0.
    eps : float
        A norm at or under it counts as zero. A block of zeros starts with g = 0 and the direction
        −G/‖G‖ of its first gradient (equal entries if that is zero too).
    maximize : bool
        Ascend.
    foreach : bool, optional
        By default rows that lie in one piece on the CPU are moved by machine code (compiled once,
        a few seconds), all else by torch's operations; True and False ask for those, for all
        parameters at once or one by one. All agree to rounding.
    differentiable : bool
        Whether autograd runs through steps.
    vectors : bool
        Whether parameters with one axis (biases) are blocks too. By default they, and all without
        an axis, get plain SGD with the same lr and momentum.

    Examples
    --------
    >>> import torch
    >>> from weightnorm.torch import RPGD
    >>> layer = torch.nn.Linear(3, 2)
    >>> optimizer = RPGD(layer.parameters(), lr=0.1, scale_ratio=0.5)
    >>> layer(torch.ones(4, 3)).square().sum().backward()
    >>> optimizer.step()
    >>> optimizer.state[layer.weight]["scale"].shape
    torch.Size([2, 1])
    >>> bool(torch.isclose(optimizer.state[layer.weight]["direction"].norm(), torch.tensor(2**0.5)))
    True
    """

    normalises = True
