"""What a step costs in PyTorch: a 50-tensor network, against SGD, weight_norm and geoopt."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from .timing import installed, interleaved

WIDTH, LAYERS, BATCH, LR = 256, 25, 256, 1e-3
MOMENTUM = 0.9
# (channels out, channels in, kernel, times) of a ResNet-18's convolutions
RESNET_18 = (
    (64, 3, 7, 1), (64, 64, 3, 4), (128, 64, 3, 1), (128, 128, 3, 3), (128, 64, 1, 1),
    (256, 128, 3, 1), (256, 256, 3, 3), (256, 128, 1, 1), (512, 256, 3, 1), (512, 512, 3, 3),
    (512, 256, 1, 1),
)  # fmt: skip
Log = Callable[[str], None]


def step_costs(log: Log, repeats: int) -> dict[str, Any] | None:
    """Whole steps and updates alone, in seconds, with ratios; None without PyTorch."""
    if not installed("torch"):
        return None
    import torch

    log("PyTorch: steps")
    torch.manual_seed(0)
    network = _network(torch)
    X, Y = torch.randn(BATCH, WIDTH), torch.randn(BATCH, WIDTH)
    whole, updates = {}, {}
    for name, (model, optimizer) in _contestants(torch, network).items():
        whole[name] = _training_step(model, optimizer, X, Y)
        updates[name] = _many(optimizer.step, 4)
        whole[name]()  # states, and gradients for the update alone
    updates["foreach by hand, rPGD"] = _many(_by_hand(torch, network), 4)
    # the least of many short ones: a machine shared by others has bursts longer than an update
    steps = interleaved(whole, 25 * repeats, min)
    alone = interleaved(updates, 25 * repeats, min)
    answer: dict[str, Any] = {
        "network": f"{2 * LAYERS} tensors, width {WIDTH}, batch {BATCH}, float32",
        "whole_step_seconds": steps,
        "update_seconds": {name: taken / 4 for name, taken in alone.items()},
        "threads": torch.get_num_threads(),
    }
    sgd, norm = steps["SGD(foreach=True)"], steps["weight_norm + SGD"]
    answer["whole_step_over_sgd"] = {n: steps[n] / sgd for n in ("RPGD", "WeightNormSGD")}
    answer["whole_step_over_weight_norm"] = {n: steps[n] / norm for n in ("RPGD", "WeightNormSGD")}
    answer["update_over_foreach_by_hand"] = alone["RPGD"] / alone["foreach by hand, rPGD"]
    answer["updates"] = {name: _by_shape(torch, make(), repeats) for name, make in SHAPES.items()}
    if "geoopt" in alone:
        answer["geoopt_update_over_ours"] = alone["geoopt"] / alone["RPGD"]
    return answer


def _resnet_18() -> list[tuple[int, ...]]:
    """The shapes of its parameters: convolutions, their norms' two vectors each, the last layer."""
    matrices = [(out, into, k, k) for out, into, k, times in RESNET_18 for _ in range(times)]
    vectors = [(shape[0],) for shape in matrices for _ in range(2)]
    return [*matrices, *vectors, (1000, 512), (1000,)]


SHAPES: dict[str, Callable[[], list[tuple[int, ...]]]] = {
    "one 4096 × 4096": lambda: [(4096, 4096)],
    "ResNet-18": _resnet_18,
    "50 of 64 × 64": lambda: [(64, 64)] * 50,
}


def _by_shape(torch: Any, shapes: list[tuple[int, ...]], repeats: int) -> dict[str, Any]:
    """Updates of such parameters, in seconds, without and with momentum, and over SGD's."""
    from weightnorm.torch import RPGD, WeightNormSGD

    def made(make: Any) -> Callable[[], object]:
        parameters = [torch.nn.Parameter(0.05 * torch.randn(shape)) for shape in shapes]
        for p in parameters:
            p.grad = 0.01 * torch.randn_like(p)
        step: Callable[[], object] = make(parameters).step
        step()  # its state
        return step

    found: dict[str, Any] = {}
    for name, momentum in (("plain", 0.0), ("momentum", MOMENTUM)):
        options = {"momentum": momentum}
        steps = {
            "SGD(foreach=True)": made(
                lambda p, o=options: torch.optim.SGD(p, LR, foreach=True, **o)
            ),
            "RPGD": made(lambda p, o=options: RPGD(p, LR, **o)),
            "WeightNormSGD": made(lambda p, o=options: WeightNormSGD(p, LR, **o)),
        }
        seconds = interleaved(steps, 8 * repeats, min)
        sgd = seconds["SGD(foreach=True)"]
        over = {kind: taken / sgd for kind, taken in seconds.items()}
        found[name] = {"seconds": seconds, "over_sgd": over}
    return found


def _network(torch: Any) -> Any:
    layers: list[Any] = []
    for _ in range(LAYERS):
        layers += [torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


def _contestants(torch: Any, network: Any) -> dict[str, tuple[Any, Any]]:
    """A model and its optimiser, by name."""
    from weightnorm.torch import RPGD, WeightNormSGD

    made = {}
    for name, make in {
        "SGD(foreach=True)": lambda p: torch.optim.SGD(p, LR, foreach=True),
        "RPGD": lambda p: RPGD(p, LR),
        "RPGD(foreach=True)": lambda p: RPGD(p, LR, foreach=True),
        "WeightNormSGD": lambda p: WeightNormSGD(p, LR),
    }.items():
        model = copy.deepcopy(network)
        made[name] = model, make(model.parameters())
    model = copy.deepcopy(network)
    for layer in model:
        if isinstance(layer, torch.nn.Linear):
            torch.nn.utils.parametrizations.weight_norm(layer)
    made["weight_norm + SGD"] = model, torch.optim.SGD(model.parameters(), LR, foreach=True)
    if installed("geoopt"):
        model = _on_spheres(torch, network)
        import geoopt

        made["geoopt"] = model, geoopt.optim.RiemannianSGD(model.parameters(), LR)
    return made


def _on_spheres(torch: Any, network: Any) -> Any:
    """The same network, every row g·w with w on geoopt's sphere."""
    import geoopt

    class Layer(torch.nn.Module):
        def __init__(self, layer: Any) -> None:
            super().__init__()
            weight = layer.weight.detach()
            g = weight.norm(dim=1, keepdim=True)
            self.w = geoopt.ManifoldParameter(weight / g, manifold=geoopt.Sphere())
            self.g, self.bias = torch.nn.Parameter(g), torch.nn.Parameter(layer.bias.detach())

        def forward(self, x: Any) -> Any:
            return torch.nn.functional.linear(x, self.g * self.w, self.bias)

    layers = [Layer(m) if isinstance(m, torch.nn.Linear) else m for m in network]
    return torch.nn.Sequential(*layers)


def _training_step(model: Any, optimizer: Any, X: Any, Y: Any) -> Callable[[], object]:
    def step() -> None:
        optimizer.zero_grad()
        (model(X) - Y).square().mean().backward()
        optimizer.step()

    return step


def _by_hand(torch: Any, network: Any) -> Callable[[], object]:
    """rPGD's update on lists of tensors, as one would write it once for one network."""
    model = copy.deepcopy(network)
    weights = [p.detach() for p in model.parameters() if p.ndim > 1]
    biases = [p.detach() for p in model.parameters() if p.ndim == 1]
    G, B = [torch.randn_like(p) for p in weights], [torch.randn_like(p) for p in biases]
    scales = [p.norm(dim=1, keepdim=True) for p in weights]
    W = torch._foreach_div(weights, scales)

    def update() -> None:
        slopes = [p.sum(dim=1, keepdim=True) for p in torch._foreach_mul(G, W)]
        torch._foreach_addcmul_(W, G, torch._foreach_mul(scales, -LR))
        torch._foreach_div_(W, [w.norm(dim=1, keepdim=True) for w in W])
        torch._foreach_add_(scales, slopes, alpha=-LR)
        torch._foreach_copy_(weights, torch._foreach_mul(W, scales))
        torch._foreach_add_(biases, B, alpha=-LR)

    return update


def _many(function: Callable[[], object], times: int) -> Callable[[], object]:
    def repeated() -> None:
        for _ in range(times):
            function()

    return repeated
