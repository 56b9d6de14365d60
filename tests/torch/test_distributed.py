"""Two processes on this machine: DDP and FSDP2 make the steps of one, and their states move."""

import os
import time
from datetime import timedelta

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict

from tests.torch.cases import OPTIMIZERS

PATIENCE = 120.0  # seconds: processes that wait for each other end then, and say so
WORLD = 2
STEPS = 6
OPTIONS = {"scale_ratio": 0.5, "momentum": 0.9}
CASES = [
    (kind, dim, name) for kind in ("ddp", "fsdp") for dim in (0, 1, None) for name in OPTIMIZERS
]


def model():
    """Five, three and one rows: no two processes get as many."""
    torch.manual_seed(0)
    layers = nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3), nn.Tanh(), nn.Linear(3, 1)
    return nn.Sequential(*layers).double()


def batch():
    generator = torch.Generator().manual_seed(1)
    X = torch.randn(8, 6, generator=generator, dtype=torch.float64)
    return X, X.sum(dim=1, keepdim=True).sin()


def loss_of(net, rows):
    X, Y = batch()
    return (net(X[rows]) - Y[rows]).square().mean()


def train(net, optimizer, rows, num_steps):
    for _ in range(num_steps):
        optimizer.zero_grad()
        loss_of(net, rows).backward()
        optimizer.step()


def alone(name, dim, num_steps=STEPS):
    net = model()
    optimizer = OPTIMIZERS[name](net.parameters(), 0.1, dim=dim, **OPTIONS)
    train(net, optimizer, slice(None), num_steps)
    return net, optimizer


def whole(tensor):
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor


def place(folder, kind, dim, name):
    return folder / f"{kind}-{dim}-{name}"


def worker(rank, port, folder):
    """Train every case with the other process, which the store of the parent has let meet."""
    torch.set_num_threads(1)
    patience = timedelta(seconds=PATIENCE / 2)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    store = dist.TCPStore("127.0.0.1", port, is_master=False, timeout=patience)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=WORLD, timeout=patience)
    try:
        for case in CASES:
            train_together(rank, place(folder, *case), *case)
            dist.barrier()
    finally:
        dist.destroy_process_group()


def train_together(rank, folder, kind, dim, name):
    """A process's part of one case: half of the batch, and of the weights with FSDP."""
    net = model()
    if kind == "ddp":
        net = nn.parallel.DistributedDataParallel(net)
    else:
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        mesh = init_device_mesh("cpu", (WORLD,))
        for layer in net:
            if isinstance(layer, nn.Linear):
                fully_shard(layer, mesh=mesh)
        fully_shard(net, mesh=mesh)
    optimizer = OPTIMIZERS[name](net.parameters(), 0.1, dim=dim, **OPTIONS)
    train(net, optimizer, slice(4 * rank, 4 * rank + 4), STEPS)
    if kind == "fsdp":
        import torch.distributed.checkpoint as dcp

        weights, state = get_state_dict(net, optimizer)
        dcp.save({"model": weights, "optimizer": state}, checkpoint_id=str(folder / "saved"))
    found = [whole(p.detach()).clone() for p in net.parameters()]
    scales = [whole(s["scale"]).clone() for s in optimizer.state.values() if "scale" in s]
    if rank == 0:
        torch.save({"weights": found, "scales": scales}, folder / "found.pt")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The folder of all cases, trained by two processes that outlive each of them."""
    folder = tmp_path_factory.mktemp("two")
    for case in CASES:
        place(folder, *case).mkdir()
    # the store is this process's, so that neither of the others takes it along when it ends
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    context = torch.multiprocessing.spawn(worker, (store.port, folder), nprocs=WORLD, join=False)
    until = time.monotonic() + PATIENCE
    while not context.join(timeout=1.0):
        if time.monotonic() > until:
            for process in context.processes:
                process.kill()
            pytest.fail(f"two processes did not end within {PATIENCE:g} s")
    return folder


@pytest.mark.parametrize(("kind", "dim", "name"), CASES)
@pytest.mark.filterwarnings("ignore")  # torch's own, of its distributed parts
def test_two_processes_make_the_steps_of_one(kind, dim, name, trained):
    folder = place(trained, kind, dim, name)
    found = torch.load(folder / "found.pt", weights_only=True)
    net, optimizer = alone(name, dim)
    for mine, theirs in zip(net.parameters(), found["weights"], strict=True):
        assert torch.allclose(mine, theirs, rtol=0, atol=1e-13)
    scales = [s["scale"] for s in optimizer.state.values() if "scale" in s]
    for mine, theirs in zip(scales, found["scales"], strict=True):
        assert torch.allclose(mine, theirs, rtol=0, atol=1e-13)
    if kind == "fsdp":
        reload_on_one(folder / "saved", name, dim)


def reload_on_one(saved, name, dim):
    """A checkpoint of two processes goes on in one, as if it had always been one."""
    import torch.distributed.checkpoint as dcp

    net = model()
    with torch.no_grad():
        for p in net.parameters():
            p.mul_(3.0)
    optimizer = OPTIMIZERS[name](net.parameters(), 0.9, dim=dim, **OPTIONS)
    weights, state = get_state_dict(net, optimizer)
    whole_state = {"model": weights, "optimizer": state}
    dcp.load(whole_state, checkpoint_id=saved)
    set_state_dict(
        net, optimizer,
        model_state_dict=whole_state["model"], optim_state_dict=whole_state["optimizer"],
    )  # fmt: skip
    assert optimizer.param_groups[0]["lr"] == 0.1
    train(net, optimizer, slice(None), STEPS)
    through, _ = alone(name, dim, 2 * STEPS)
    for mine, theirs in zip(net.parameters(), through.parameters(), strict=True):
        assert torch.allclose(mine, theirs, rtol=0, atol=1e-12)
