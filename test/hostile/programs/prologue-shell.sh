# Looks for traces of the files that a shell reads by itself at its start.
[ -z "${BASH_ENV:-}${ENV:-}${PROMPT_COMMAND:-}" ] || echo "HIJACKED by the environment"
[ "$(declare -F | wc -l)" = 0 ] || echo "HIJACKED by a function"
echo clean
