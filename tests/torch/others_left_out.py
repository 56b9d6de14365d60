"""The tests of pytorch_optimizer that are not run on our optimisers, each with its reason."""

OTHER_METHOD = "the options of its own optimisers, which ours do not have"
NOT_THERE = "no optimiser of ours is in it: it tests that package alone"
STATE = "reads the state under the names of torch's Adam or SGD"
ADAM = "a learning rate for Adam: in these few steps torch's SGD does not get there either"

FILES = {
    "optimizers": "the formulas of its own optimisers, one file each",
    "utils": "its helpers for gradients, matrices and processes",
    "test_base.py": "its base class, which ours do not inherit",
    "test_docs.py": "its documentation",
    "test_load_modules.py": "its lists of names",
    "test_loss_functions.py": "its losses",
    "test_optimizer_parameters.py": OTHER_METHOD,
    "test_test_helpers.py": "the helpers of its tests, on its optimisers and torch's",
}

_CREATE = "test_create_optimizer.py::TestCreateOptimizer::"
_GENERAL = "test_general_optimizer_parameters.py::"
_SPARSE = "test_gradients.py::TestSparseGradients::"
_WRAP = "test_wrapper_optimizers.py::"

TESTS = {
    _CREATE + "test_create_optimizer_compile_wiring": OTHER_METHOD,
    _CREATE + "test_muon_tied_parameters_and_head": NOT_THERE,
    "test_create_optimizer.py::TestOptionalIntegrations::test_external_optimizers_require_import": (
        NOT_THERE
    ),
    _GENERAL + "TestBasicParameterValidation::test_wd_ratio": OTHER_METHOD,
    _GENERAL + "TestBetaParameterValidation::test_beta": OTHER_METHOD,
    _GENERAL + "TestBetaParameterValidation::test_betas": OTHER_METHOD,
    _GENERAL + "TestSpecialParameterValidation::test_norm": OTHER_METHOD,
    _GENERAL + "TestSpecialParameterValidation::test_nus": OTHER_METHOD,
    _GENERAL + "TestSpecialParameterValidation::test_update_frequency": OTHER_METHOD,
    _SPARSE + "test_madgrad_unsupported_sparse_options": OTHER_METHOD,
    _SPARSE + "test_sparse": "ours refuse sparse gradients, which test_sparse_not_supported tests",
    _SPARSE + "test_zero_epsilon": "ours refuse sparse gradients",
    "test_lr_schedulers.py::TestLRSchedulerParameters::test_chebyshev_params": NOT_THERE,
    "test_lr_schedulers.py::test_deberta_v3_large_lr_scheduler": NOT_THERE,
    "test_lr_schedulers.py::test_get_chebyshev_scheduler": NOT_THERE,
    "test_optimizer_variants.py::test_coupled_weight_decay": OTHER_METHOD,
    "test_optimizer_variants.py::test_variant_training": OTHER_METHOD,
    "test_optimizers.py::TestOptimizerInterface::test_init_group": (
        "a method of its base class, which ours do not inherit"
    ),
    _WRAP + "TestBSAM::test_bsam_optimizer": NOT_THERE,
    _WRAP + "TestMagma::test_magma_masks_parameters_and_updates_base_state": STATE,
    _WRAP + "TestPCGrad::test_checkpoint_hooks_and_resume": STATE,
    _WRAP + "TestPCGrad::test_pc_grad_optimizers": ADAM,
    _WRAP + "TestPCGrad::test_pcgrad_preserves_unused_parameters": (
        "decays parameters with one axis; ours decay only scales"
    ),
    _WRAP + "TestSAM::test_checkpoint_resume": STATE,
    _WRAP + "TestSAM::test_sam_family_methods[rpgd-BSAM]": NOT_THERE,
    _WRAP + "TestSAM::test_sam_family_methods[weightnormsgd-BSAM]": NOT_THERE,
    _WRAP + "TestTRAC::test_trac_optimizer[weightnormsgd]": (
        "the loss must halve in 60 steps, of which TRAC makes the first 30 next to nothing: with "
        "SGD, torch's weight_norm comes from 0.81 to 0.44, ours to 0.46"
    ),
    _WRAP + "TestWSAM::test_wsam_optimizer[rpgd-True-True-False-True]": ADAM,
    _WRAP + "TestWSAM::test_wsam_optimizer[rpgd-True-True-True-False]": ADAM,
    _WRAP + "TestWSAM::test_wsam_optimizer[weightnormsgd-True-True-False-True]": ADAM,
    _WRAP + "TestWSAM::test_wsam_optimizer[weightnormsgd-True-True-True-False]": ADAM,
}


def short(nodeid):
    """The name of a test without its folder."""
    return nodeid.removeprefix("tests/")


def key(nodeid):
    """Under what a test is left out: its name, or that without parameters; None if it is not."""
    name = short(nodeid)
    return next((k for k in (name, name.partition("[")[0]) if k in TESTS), None)
