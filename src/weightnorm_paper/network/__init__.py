"""Does training only the direction of the last layer help a real network? A registered experiment.

`protocol` says what is run and `hypotheses` what is asked of it, both fixed before the full run;
`data`, `models`, `arms`, `training` and `shard` run it, `execute` on all cores and resumable;
`analysis` answers. It needs PyTorch and scikit-learn, and nothing else imports it but the command.

     protocol, hypotheses      what is run and what is asked, committed before the full run
     data → models → arms → training → shard    from files to the numbers of one arm in one setting
     execute                   shards on all cores, resumed; the store is that of sweeps
     results, dataset → analysis, unseen → figures/network, report/network/page

PyTorch is imported inside functions only, so that the analysis and the page need none of it.
"""
