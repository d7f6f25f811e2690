<?php
echo stream_get_contents(STDIN);
file_put_contents("/dev/stderr", "canary stderr\n");
copy("input/original", "output/copy");
exit(7);
