print(end="")
