# Becomes the command in its arguments, with real pipes for stdin, stdout and stderr.
use strict;
use warnings;
use File::Basename ();
require(File::Basename::dirname(__FILE__) . '/pipes.pl');

# A service that was killed cannot end what it started: the kernel does it (PR_SET_PDEATHSIG, SIGKILL).
my %PRCTL = (x86_64 => 157, aarch64 => 167);
my $prctl = $PRCTL{ (POSIX::uname())[4] };
syscall($prctl, 1, 9, 0, 0, 0) if $prctl;

offer_pipes();
take_pipes();
exec { $ARGV[0] } @ARGV or fail("cannot start $ARGV[0]: $!");
