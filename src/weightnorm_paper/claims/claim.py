"""What is recorded about one claim: where it stands, what is printed, what is true, and why."""

from __future__ import annotations

from dataclasses import dataclass

from weightnorm import theory

from .. import lemmas

# In the order in which the page counts them. The words are those of the page and of `verify`.
KINDS: dict[str, str] = {
    "holds": "true as printed",
    "condition-stated": "true under a condition that the paper states, but elsewhere",
    "condition-needed": "true under a condition that the paper does not state",
    "misprint": "a slip of the pen: the intended statement is true",
    "loose": "true, but not tight",
    "false": "not true: a counterexample is given, and the statement that is true",
    "beyond": "beyond the paper: counted apart",
}
SURVIVES = ("yes", "partly", "no")
GROUPS: dict[str, str] = {
    "flow": "The flow: statements of Section 2 and Appendices A to D",
    "discrete": "Discrete time: statements of Section 3 and Appendix E",
    "proof": "Steps inside proofs",
    "set-up": "Set-up of the experiments",
    "beyond": "Beyond the paper",
}
RELATIONS = ("=", "≠", "≤", "<", ">", "≥")


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A claim of the paper, or one beyond it: what is printed, what is true, and why.

    `CLAIMS` in `weightnorm_paper.claims` has all of them.

    Attributes
    ----------
    id : str
        A short name, for instance "flow-limit"; `weightnorm.verify(only=[…])` takes it.
    kind : str
        The class of the verdict, one of `KINDS`.
    conclusion : str
        Whether the paper's conclusion survives: "yes", "partly" or "no".
    group : str
        Which part of the page it stands in, one of `GROUPS`.
    paper : str
        Where the paper states it, by the numbers of its LaTeX counters.
    functions : tuple of str
        The functions of `weightnorm.theory`, or `weightnorm_paper.lemmas`, that say it exactly;
        `qualified` has their full names.
    verdict : str
        The verdict in a sentence.
    printed, exact : str
        What the paper prints, in our words, and the exact statement.
    proof : str
        Why the exact statement is true, in one to eight lines.
    instance : str
        The instance of the snippet in words: A, y, w0, g0 and steps.
    snippet : str
        At most five lines of NumPy that follow `PREAMBLE` and set `found` and `printed`, the
        simulated number and the printed one; `exact`, where there is one, is the corrected number.
    relation : str
        How found and printed must compare, one of `RELATIONS`.

    Examples
    --------
    >>> from weightnorm_paper.claims import CLAIMS
    >>> claim = next(claim for claim in CLAIMS if claim.id == "gd-limit")
    >>> claim.functions, claim.kind, claim.conclusion
    (('gd_limit',), 'false', 'partly')
    """

    id: str
    kind: str
    conclusion: str
    group: str
    paper: str
    functions: tuple[str, ...]
    verdict: str
    printed: str
    exact: str
    proof: str
    instance: str
    snippet: str
    relation: str

    def __post_init__(self) -> None:
        known = {"kind": KINDS, "conclusion": SURVIVES, "group": GROUPS, "relation": RELATIONS}
        for name, words in known.items():
            if (given := getattr(self, name)) not in words:
                raise ValueError(
                    f"claim {self.id!r}: {name} must be one of {', '.join(map(repr, words))}, "
                    f"got {given!r}"
                )
        if not isinstance(self.functions, tuple):
            raise TypeError(f"claim {self.id!r}: functions must be a tuple of names")
        there = {*theory.__all__, *lemmas.__all__, "plan"}
        for name in self.functions:
            if "." not in name and name not in there:
                raise ValueError(
                    f"claim {self.id!r}: {name!r} is neither in weightnorm.theory nor in "
                    "weightnorm_paper.lemmas"
                )

    @property
    def qualified(self) -> tuple[str, ...]:
        """The functions by their full names, such as "weightnorm.theory.gd_limit"."""
        return tuple(_qualified(name) for name in self.functions)


def _qualified(name: str) -> str:
    if name in lemmas.__all__:
        return f"weightnorm_paper.lemmas.{name}"
    return f"weightnorm.{name}" if "." in name else f"weightnorm.theory.{name}"
