"""Which public names stand together in the reference, and what is said above each group."""

import importlib
from dataclasses import dataclass


@dataclass(frozen=True)
class Page:
    """A module's page: names by the title of their group, as words of a string."""

    file: str
    title: str
    module: str
    text: str
    groups: dict[str, str]
    elsewhere: str = ""  # public names of the module that are on another page

    @property
    def names(self) -> list[str]:
        """All names on it, in order."""
        return [name for names in self.groups.values() for name in names.split()]

    def faults(self) -> list[str]:
        """Names that do not exist, and public ones that are left out."""
        module = importlib.import_module(self.module)
        unknown = [name for name in self.names if not hasattr(module, name)]
        public = {name for name in getattr(module, "__all__", ()) if not name.startswith("__")}
        missing = sorted(public - set(self.names) - set(self.elsewhere.split()))
        return [
            *([f"the reference names {unknown}, not in {self.module}"] if unknown else []),
            *([f"the reference leaves out {missing} of {self.module}"] if missing else []),
        ]


# members of classes that are for the engine, or for the library they come from
INTERNAL = {
    *("decay_gradient", "step_directions", "own_scale", "weights_scale"),  # of methods
    *("is_iterated", "target", "whitened", "packed", "unseen_norm", "fingerprint"),
    "mark",
    *("model_post_init", "tables", "written"),  # of SweepConfig
    *("ends_frozen", "settled_from", "get_lr"),  # of schedules
}
# of what a contract asks for, what users call as well
CALLED = {"value_and_gradient"}

PAGES = [
    Page(
        "weightnorm",
        "Runs, problems, methods",
        "weightnorm",
        """The names one types after ``import weightnorm as wn``. The modules ``wn.theory``,
``wn.schedules``, ``wn.datasets`` and ``wn.plot`` have pages of their own.""",
        {
            "Train": "run sweep search_step flow gradient_flow",
            "See it in a browser": "explore",
            "Methods": "GradientDescent WeightNorm RPGD BatchNorm Method",
            "Problems": "LeastSquares KernelLeastSquares GeneralizedLinear MatrixSensing Problem",
            "What a call returns": "Result Status History Trajectory StepSearch",
            "What a call raises": "Interrupted NotCertified",
            "Estimators for scikit-learn": (
                "WeightNormRegressor WeightNormRegressorCV WeightNormClassifier "
                "WeightNormKernelRegressor"
            ),
            "Check the theory": "verify",
        },
        elsewhere="certificate datasets plot schedules theory",
    ),
    Page(
        "theory",
        "Theory",
        "weightnorm.theory",
        """Where training ends, how fast, and from which starts: functions that predict and never
run anything. Most return a `Statement` with ``.applies``, ``.assumptions`` and ``.failing``.
Symbols are those of the :doc:`glossary </reference/glossary>`.""",
        {
            "Where does it end?": (
                "flow_limit gd_limit finite_step_limit batchnorm_limit weight_decay_limit "
                "linear_layer_limit fixed_scale_limit restart_limit flow_outcome scale_sign"
            ),
            "Which steps?": "stability norm_bracket two_cycle two_cycle_basin edge_time",
            "Plan a run with a guarantee": (
                "plan two_phase_a two_phase_b safe_scale safe_scale_steps"
            ),
            "Against gradient descent": "wn_beats_gd distance_map",
            "The formulas behind the limit": (
                "limit_perp limit_scale limit_square perp_of_limit ratio_for_share potential "
                "bregman invariant invariant_drift grouped_invariant flow_limit_as_printed"
            ),
            "How fast?": "convergence_time frozen_contraction perp_after steps_to_perp",
            "Classes, noise, other rules": (
                "max_margin max_margin_offset noise_equilibrium coordinate_wise_end"
            ),
            "What these functions return": (
                "Statement Assumption Value Bounds Limit FiniteStepLimit IterativeLimit LayerLimit "
                "DecayLimit EdgeTime Stability TwoCycle TwoPhase Comparison ScaleSign MaxMargin "
                "MarginOffset NoiseEquilibrium"
            ),
        },
    ),
    Page(
        "planning",
        "Plans",
        "weightnorm.advice.planning",
        """What ``wn.theory.plan`` returns.""",
        {"Plans": "Plan"},
    ),
    Page(
        "result_certificate",
        "What the theory says of a result",
        "weightnorm.advice.certificate",
        """``wn.certificate(problem, result)`` is this function.""",
        {"A result against the theory": "certificate Certificate"},
    ),
    Page(
        "schedules",
        "Steps and schedules",
        "weightnorm.schedules",
        """A step is a number, one of these, or any callable of the step number.""",
        {"Schedules": "constant two_phase piecewise curvature scaled stable Schedule as_schedule"},
    ),
    Page(
        "datasets",
        "Data to try it on",
        "weightnorm.datasets",
        """Problems with known answers, and starts, from a seed.""",
        {
            "Problems": "make_regression make_generalized_linear make_sensing",
            "Starts": "random_direction sensing_start",
        },
    ),
    Page(
        "plot",
        "Plots",
        "weightnorm.plot",
        """Each draws into matplotlib axes, yours or its own, and returns them.""",
        {
            "Of runs": "end_norms trajectory path",
            "Of predictions": "phase_diagram limit_norms",
            "Of estimators": "early_stopping",
        },
    ),
    Page(
        "sweeps",
        "Sweeps on disk",
        "weightnorm.sweeps",
        """What ``weightnorm sweep`` does, from Python. The keys of a file are on the page
:doc:`/reference/sweep-files`.""",
        {
            "Run": "run rerun Outcome",
            "Describe": "SweepConfig load_config",
            "What a call raises": "ConfigError StoreError",
        },
        elsewhere="run_sweep",  # the old name of run
    ),
    Page(
        "cluster",
        "Sweeps on a cluster",
        "weightnorm.sweeps.cluster",
        """:doc:`/guides/cluster` shows it at work.""",
        {"A Dask client": "connected ClusterError"},
    ),
    Page(
        "certificate",
        "The certificate",
        "weightnorm_paper.certificate",
        """Every claim of the theory against simulation: what ``weightnorm verify`` runs.""",
        {"Check": "Certificate Line", "Write it down": "counts summary to_markdown to_erratum"},
        elsewhere="verify",
    ),
    Page(
        "lemmas",
        "The lemmas of the paper",
        "weightnorm_paper.lemmas",
        """What proofs and checks use on their way, and what the paper prints. These functions are
written like those of :doc:`wn.theory </reference/generated/theory>`, which has the predictions.""",
        {
            "The flow and its rest points": (
                "flow_field flow_step_sizes gradients stationary_point sphere_ball perp_factor "
                "loss_rate loss_rate_bounds loss_envelope example_2d"
            ),
            "One step, exactly": (
                "rpgd_step wn_step step_identities scale_step scale_gap scale_increases "
                "scale_keeps_increasing scale_norm_recursion loss_gap orthogonal_gstar "
                "adaptive_lambda_rpgd adaptive_lambda_wn adaptive_lambda_sign"
            ),
            "How fast rPGD leaves its start": "norm_after_first_step perp_bound perp_contraction",
            "From which scales?": (
                "safe_scale_any safe_scale_random safe_scale_second_stage random_tail"
            ),
            "Two phases, and orders of growth": (
                "two_phase_a_printed_second two_phase_b_bounds two_phase_b_final "
                "two_phase_a_order two_phase_a_step_order two_phase_b_order "
                "two_phase_b_second_order two_phase_b_gain rho_tradeoff"
            ),
        },
    ),
    Page(
        "torch",
        "PyTorch",
        "weightnorm.torch",
        """An extra, ``pip install "weightnorm[torch]"``; :doc:`/guides/torch` shows it at work.""",
        {
            "Optimisers": "RPGD WeightNormSGD FreezeThaw",
            "Layers and groups": (
                "scale_norm remove_scale_norm from_torch_weight_norm ScaleNorm "
                "scale_direction_groups"
            ),
            "Look inside, look ahead": "Monitor predict_last_layer LastLayer",
        },
    ),
    Page(
        "methods",
        "What all methods have",
        "weightnorm.methods",
        """Momentum, decay, clipping, mini-batches and label noise: options of every method.""",
        {"Options": "GradientMethod", "For methods of your own": "expand block_norm block_dot"},
        elsewhere="BatchNorm GradientDescent RPGD WeightNorm Method",
    ),
    Page(
        "iterative",
        "Solutions by iteration",
        "weightnorm.problems.coordinates.iterative",
        """What ``problem.iterate()`` returns, for an A too large to factorise.""",
        {"Solutions": "Iterated"},
    ),
    Page(
        "problems",
        "For problems of your own",
        "weightnorm.problems",
        """The contract of a problem is `weightnorm.Problem`; these go with it.
:doc:`/guides/own-method` shows both at work.""",
        {
            "Coordinates": "Reduction Lifter",
            "Minima and checks": "MinimumNuclearNorm require_least_squares",
            "Weights that a kernel knows": "Expansion",
        },
        elsewhere=(
            "GeneralizedLinear KernelLeastSquares LeastSquares MatrixSensing NotCertified Problem"
        ),
    ),
    Page(
        "losses",
        "For losses of your own",
        "weightnorm.problems.losses",
        """What `weightnorm.GeneralizedLinear` asks of a loss.""",
        {"The contract": "Loss", "Those that ship": "Logistic Poisson Huber Squared"},
    ),
    Page(
        "contract",
        "For methods of your own",
        "weightnorm.methods.contract",
        """What goes with `weightnorm.Method`, the contract of a method. :doc:`/guides/own-method`
shows it at work.""",
        {"The contract": "State Evaluation Sampling Need"},
        elsewhere="Method",
    ),
]
