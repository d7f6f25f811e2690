# Imports modules that files in input/ shadow. An isolated interpreter looks neither there nor in its working directory.
import json
import os
import random
import string
import sys

assert "" not in sys.path and "/work" not in sys.path and "/work/input" not in sys.path, sys.path
assert sys.flags.isolated == 1
print("clean")
