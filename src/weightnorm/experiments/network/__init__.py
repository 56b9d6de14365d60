"""Does training only the direction of the last layer help a real network? A registered experiment.

`protocol` says what is run and `hypotheses` what is asked of it, both fixed before the full run;
`data`, `models`, `arms`, `training` and `shard` run it, `execute` on two cores and resumable;
`analysis` answers. It needs PyTorch and scikit-learn, and nothing else imports it but the command.
"""
