# Becomes the command in its arguments, with real pipes for stdin, stdout and stderr.
use strict;
use warnings;
my ($here) = __FILE__ =~ m{^(.*)/}s;
require "$here/pipes.pl";

# A service that was killed cannot end what it started: the kernel does it (PR_SET_PDEATHSIG, SIGKILL).
call('prctl', 1, 9, 0, 0, 0);

offer_pipes();
take_pipes();
exec { $ARGV[0] } @ARGV or fail("cannot start $ARGV[0]: $!");
