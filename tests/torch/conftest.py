"""What is no module of tests here: a plugin that is loaded beside the tests of others."""

collect_ignore = ["others_plugin.py"]
