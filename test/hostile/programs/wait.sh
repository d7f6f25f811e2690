# Waits until it is stopped.
exec /usr/bin/sleep 600
