"""Handwritten digits: train with separate rates for magnitude and direction, and look inside."""

import torch
from sklearn.datasets import load_digits

from weightnorm.torch import RPGD, FreezeThaw, Monitor

torch.manual_seed(0)
digits = load_digits()
X = torch.tensor(digits.data, dtype=torch.float32) / 16
y = torch.tensor(digits.target)
order = torch.randperm(len(X))
train, test = order[:1400], order[1400:]

model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
optimizer = RPGD(model.parameters(), lr=0.3, scale_ratio=0.1, momentum=0.9)  # the one line
scheduler = FreezeThaw(optimizer, switch=100)  # directions first, scales from step 100 on
monitor = Monitor(optimizer, every=50, names=model)

for _ in range(400):
    batch = train[torch.randint(len(train), (128,))]
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(X[batch]), y[batch])
    loss.backward()
    optimizer.step()
    scheduler.step()

with torch.no_grad():
    accuracy = (model(X[test]).argmax(dim=1) == y[test]).float().mean()
print(f"accuracy on {len(test)} digits it has not seen: {accuracy:.1%}")
print(monitor.to_dataframe().groupby(["parameter", "step"])[["scale", "angle"]].mean().round(4))
