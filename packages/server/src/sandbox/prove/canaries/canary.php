<?php
echo stream_get_contents(STDIN);
// PHP would take a link to a pipe for a path, and so cannot open /dev/stderr by its name.
file_put_contents("php://stderr", "canary stderr\n");
copy("input/original", "output/copy");
exit(7);
