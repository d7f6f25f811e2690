# Puts a link to the root in place of the whole output directory.
import os

os.rename("/work/output", "/work/elsewhere")
os.symlink("/", "/work/output")
