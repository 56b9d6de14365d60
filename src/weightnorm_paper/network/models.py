"""Small networks, many at a time: every tensor has an axis of members in front.

Members share no number: a batch of matrix products trains them side by side, each as it would be
trained alone (a test compares), at a fraction of the cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .protocol import BASE_NORM, CLASSES

WIDTH = 512  # of the MLP's hidden layer: the features of its last layer
CHANNELS = {14: (16, 16), 8: (16, 32)}  # of the two convolutions, by the side of the images
KERNEL, BLOCK = 3, 2


@dataclass(eq=False)
class Ensemble:
    """The parameters of several networks of one kind.

    Attributes
    ----------
    network : {"mlp", "cnn"}
    body : list of tensors (members, …)
        Weights and biases below the last layer, in turn.
    last : list of tensors (members of a group, CLASSES, d)
        The weights of the last layer, one tensor per group, in the order of the members.
    bias : (members, 1, CLASSES) tensor
        Of the last layer.
    """

    network: str
    body: list[Any]
    last: list[Any]
    bias: Any

    @property
    def parameters(self) -> list[Any]:
        """All tensors."""
        return [*self.body, *self.last, self.bias]

    def features(self, inputs: Any) -> Any:
        """What the last layer sees, (members, n, d), for `prepared` inputs (members, n, …)."""
        import torch

        members, count, _ = inputs.shape
        if self.network == "mlp":
            weight, bias = self.body
            return torch.baddbmm(bias, inputs, weight).relu()
        first, first_bias, second, second_bias = self.body
        patches = inputs.view(members, -1, KERNEL**2)
        maps = torch.baddbmm(first_bias, patches, first).relu()
        # the pixels of a block stand together, so that the second convolution is one product
        blocks = maps.view(members, -1, BLOCK**2 * first.shape[-1])
        return torch.baddbmm(second_bias, blocks, second).relu().view(members, count, -1)

    def outputs(self, inputs: Any) -> Any:
        """The outputs of the networks, (members, n, CLASSES)."""
        import torch

        weight = self.last[0] if len(self.last) == 1 else torch.cat(self.last)
        return torch.baddbmm(self.bias, self.features(inputs), weight.transpose(1, 2))

    def member(self, index: int) -> Ensemble:
        """One network, as an ensemble of one; it shares memory, and has no gradients."""
        import torch

        weight = torch.cat([part.detach() for part in self.last])
        keep = slice(index, index + 1)
        return Ensemble(
            self.network,
            [part.detach()[keep] for part in self.body],
            [weight[keep]],
            self.bias.detach()[keep],
        )


def prepared(pictures: Any, network: str) -> Any:
    """Images as inputs of a network, (n, …): pixels, or the patches of the first convolution.

    Parameters
    ----------
    pictures : (n, side, side) float32 array
    network : {"mlp", "cnn"}

    Returns
    -------
    (n, inputs) tensor
    """
    import torch

    n, side, _ = pictures.shape
    if network == "mlp":
        return torch.from_numpy(pictures.reshape(n, -1).copy())
    half = side // BLOCK
    places = np.arange(side**2).reshape(half, BLOCK, half, BLOCK).swapaxes(1, 2).ravel()
    padded = np.pad(pictures, ((0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (KERNEL, KERNEL), axis=(1, 2))
    patches = windows.reshape(n, side**2, KERNEL**2)[:, places]
    return torch.from_numpy(np.ascontiguousarray(patches.reshape(n, -1)))


def start(network: str, side: int, seeds: list[int], groups: list[int], scale: float) -> Ensemble:
    """Networks at their start: torch's own, but for rows of the last layer of one length.

    Parameters
    ----------
    network : {"mlp", "cnn"}
    side : int
        Of the images.
    seeds : list of int
        One per member; a member's start depends on its seed alone.
    groups : list of int
        How many members, in order, share a tensor of the last layer.
    scale : float
        The norm of the rows of the last layer, over `BASE_NORM`. Their biases are zero.

    Returns
    -------
    Ensemble
    """
    import torch

    if network == "mlp":
        shapes = [(side**2, WIDTH)]
        width = WIDTH
    else:
        one, two = CHANNELS[side]
        shapes = [(KERNEL**2, one), (BLOCK**2 * one, two)]
        width = (side // BLOCK) ** 2 * two
    members = [_draw_member(shapes, width, seed) for seed in seeds]
    layers = zip(*(body for body, _ in members), strict=True)
    body = [torch.stack(parts).requires_grad_() for parts in layers]
    rows = scale * BASE_NORM * torch.stack([last for _, last in members])
    last = [part.clone().requires_grad_() for part in rows.split(groups)]
    return Ensemble(network, body, last, torch.zeros(len(seeds), 1, CLASSES, requires_grad=True))


def _draw_member(shapes: list[tuple[int, int]], width: int, seed: int) -> tuple[list[Any], Any]:
    """Weights and biases of the body, and unit rows for the last layer."""
    import torch

    generator = torch.Generator().manual_seed(seed)

    def uniform(*shape: int, fan: int) -> Any:
        return (2.0 * torch.rand(*shape, generator=generator) - 1.0) * fan**-0.5

    body = []
    for fan, count in shapes:
        body += [uniform(fan, count, fan=fan), uniform(1, count, fan=fan)]
    last = uniform(CLASSES, width, fan=width)
    return body, last / last.norm(dim=1, keepdim=True)
