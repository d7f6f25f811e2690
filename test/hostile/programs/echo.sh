# Copies its input to both streams and to an output.
exec /usr/bin/tee /dev/stderr output/copy
