# Looks for what a shell reads by itself.
[ -z "${BASH_ENV:-}${ENV:-}${PROMPT_COMMAND:-}" ] || echo "HIJACKED by the environment"
[ "$(declare -F | wc -l)" = 0 ] || echo "HIJACKED by a function"
echo clean
