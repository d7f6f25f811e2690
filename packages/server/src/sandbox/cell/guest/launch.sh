# Waits, then executes the command in its arguments. If the input ends without a release, the process that held the
# program is gone.
printf r >&4
exec 4>&-
read -r heap_mb arguments <&3 || exit 125
mapfile -t -d '' words <&3
exec 3<&-
command=("${@//\{work\}/$PWD}")
step=$PWD/input/.session/step.pl
# A step of a session loads the session's files before the command, and stores them after it.
[[ ! -e $step ]] || command=(/usr/bin/perl "$step" "${command[@]}")
command=("${command[@]//\{heap_mb\}/$heap_mb}" "${words[@]:0:arguments}")
variables=("${words[@]:arguments}")
# The program's variables are not set in this shell, because some names would change or end it.
((${#variables[@]} == 0)) || exec /usr/bin/env "${variables[@]}" "${command[@]}"
exec "${command[@]}"
