# Imports what input/ shadows: an isolated interpreter looks in neither its working directory nor beside its inputs.
import json
import os
import random
import string
import sys

assert "" not in sys.path and "/work" not in sys.path and "/work/input" not in sys.path, sys.path
assert sys.flags.isolated == 1
print("clean")
