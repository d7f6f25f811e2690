# Replaces the whole output directory with a link to the root.
import os

os.rename("/work/output", "/work/elsewhere")
os.symlink("/", "/work/output")
