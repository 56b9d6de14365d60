"""How the network experiment was done, and its limits, in words for its page."""

from __future__ import annotations

import numpy as np

from ...network.analysis import interval
from ...network.data import DIGITS_TEST, VALIDATION
from ...network.hypotheses import HYPOTHESES
from ...network.models import BLOCK, CHANNELS, WIDTH
from ...network.protocol import ARMS, BATCH, MOMENTUM
from ...network.results import Results
from .words import level


def methods(found: Results) -> list[str]:
    """The paragraphs that say how it was done.

    Parameters
    ----------
    found : Results

    Returns
    -------
    list of str
    """
    size = found.size
    steps = ", ".join(f"{n:,} steps on {s:,} of {d}" for d, s, n in size.steps)
    chosen = np.concatenate(
        [
            found.array(s, a, "chosen")[:, 0]
            for s in found.names()
            for a in (arm.name for arm in ARMS)
        ]
    )
    edges = [
        100.0 * float(np.mean(np.isclose(chosen, rate))) for rate in (size.rates[0], size.rates[-1])
    ]
    maps = {side: (side // BLOCK) ** 2 * channels[1] for side, channels in CHANNELS.items()}
    measured = "; ".join(f"`{each.id}`: {each.number}" for each in HYPOTHESES)
    return [
        "- **Data**: MNIST (2 × 2 pixels averaged to 14 × 14, its own test set of 10,000, "
        f"{VALIDATION['mnist']:,} for validation) and scikit-learn's digits (8 × 8; "
        f"{VALIDATION['digits']} for validation, {DIGITS_TEST:,} for test). In settings called "
        "*noise* 20 % of the training labels are wrong.\n"
        f"- **Networks**: an MLP with one hidden layer of {WIDTH} ReLUs, and a CNN with two "
        f"convolutions (3 × 3, then 2 × 2 with stride 2) whose maps, {maps[14]} or {maps[8]} "
        "numbers, are the features of the last layer. At 1 × its rows have norm 1/√3, torch's own "
        "on average, and all the same one.\n"
        f"- **Training**: {steps}; batches of {BATCH}, momentum {MOMENTUM:g}, constant rates that "
        "fall to zero over the last fifth. The body and the biases are trained by SGD in every "
        "arm; the last layer by SGD, `WeightNormSGD` or `RPGD` with one scale per class, frozen by "
        "a ratio of 0 and by `FreezeThaw`, switched half-way. Cross-entropy; *squares* is squared "
        "error, left out of all averages.\n"
        f"- **Tuning**: for every arm, setting and start scale the same budget of {size.budget} "
        f"networks: {len(size.rates)} rates from {size.rates[0]:g} to {size.rates[-1]:g}, then "
        "three other values of one more number (the factor of the last layer's rate for SGD and "
        "the frozen scale, that of the scale's rate for WN, rPGD and the two-phase arms, the decay "
        f"for weight decay), on {size.tuning_seeds} tuning seed(s) each, by the error on the "
        f"validation set. The best rate was the smallest tried in {edges[0]:.1f} % of the cases "
        f"and the largest in {edges[1]:.1f} %.\n"
        "- **The rate of a direction** is η/g0² with g0 the start's norm (the default one for "
        "smaller starts that are not frozen), which is what WN does by itself: the largest stable "
        "step goes as 1/g². The scale's rate is η. *Kept* rates keep η and this rule.\n"
        "- **Seeds** are training sets, wrong labels, starts of the network and orders of "
        "batches, the same for all arms and start scales: differences are paired.\n"
        f"- **What each hypothesis measures**, for each seed: {measured}."
    ]


def limits(found: Results) -> list[str]:
    """The paragraphs that say what it does not show.

    Parameters
    ----------
    found : Results

    Returns
    -------
    list of str
    """
    return [
        "- Two data sets of small digits, two small networks, one batch size, one momentum, a "
        "fixed number of steps, no normalisation layers, no augmentation, no Adam. Only the last "
        "layer has a scale and directions, and the body can make up for a scale that is frozen. "
        "Nothing here speaks of large networks.\n"
        "- Intervals over seeds are for these settings, with the rates that were tuned for them: "
        "how the tuning went, by two seeds on a coarse grid, is not in them. The intervals over "
        "settings have it, but settings are few, alike, and not a sample of anything.\n"
        "- All seeds share MNIST's test set. Those of the digits share 1,797 images, so a tuning "
        "seed may have seen another seed's test images, alike for all arms. Validation labels are "
        f"clean, and on MNIST four times as many as 500 training labels: better tuning than one "
        f"would have.{_validation(found)}\n"
        "- With *kept* rates WN and rPGD adapt their direction's rate to the norm of the start, by "
        "construction, and SGD does not: that is part of what is compared. Means are moved by runs "
        "that fail altogether; the table says how many did.\n"
        "- *Thaw, then freeze* trains the scale at full rates, *freeze, then thaw* while rates "
        "fall: half as many steps are not half as much training. Weight decay is on the body's "
        "weights, too.\n"
        "- Points weigh settings with large errors most; the table has them one by one.\n"
        "- Pilot runs with tuning seeds, before the hypotheses were written, chose the range of "
        "rates and the number of steps, and a quick run of the digits how `end-predicted` measures "
        "a miss. Two definitions were mended after the run had begun and before any number they "
        "concern was there: what features see is taken from them as they are, not centred, and "
        "runs that fail are left out of both arms that are compared."
    ]


def _validation(found: Results) -> str:
    """How the validation set of MNIST, its last training images, differs from its test set."""
    names = [name for name in found.names() if name.startswith("mnist")]
    if not names:
        return ""
    place = found.size.scales.index(1.0)
    tuned = [found.array(n, "sgd", "validation_error")[place].mean(axis=1).min() for n in names]
    tested = interval(np.mean([found.error(n, "sgd", 1.0) for n in names], axis=0))
    return (
        f" And they are easier: SGD at 1 ×, tuned, errs on {100 * np.mean(tuned):.1f} % of MNIST's "
        f"last training images, which validate (tuning seeds), and on {level(tested, 1)} % of its "
        "test set, so what is best on the one need not be on the other."
    )
