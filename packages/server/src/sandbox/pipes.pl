# Gives a process that is about to become something else real pipes for its stdin, stdout and stderr, whose other ends the
# service opens through /proc/PID/fd. Node cannot make a pipe: what it hands to a child is a socket, which no program can
# open again as /dev/stdin; a named pipe could be, but an open of it waits for the other end.
use strict;
use warnings;
use POSIX ();

# Descriptors of the service's ends, in the order stdin, stdout, stderr. `pipes.ts` knows the same numbers.
my @OURS   = (20, 21, 22);
my @CHILDS = (30, 31, 32);

# fcntl(2): F_SETPIPE_SZ.
my $SET_CAPACITY = 1031;

# Makes the pipes and says so on the present standard output. Those for output hold `$capacity` bytes where it is given.
sub offer_pipes {
    my ($capacity) = @_;
    for my $stream (0 .. 2) {
        pipe(my $read, my $write) or fail("pipe: $!");
        chmod(0666, $read)        or fail("chmod: $!");    # A program of another user opens its own ends again by path.
        widen($write, $capacity) if $capacity && $stream != 0;
        my ($ours, $childs) = $stream == 0 ? ($write, $read) : ($read, $write);
        POSIX::dup2(fileno($ours), $OURS[$stream])     or fail("dup2: $!");
        POSIX::dup2(fileno($childs), $CHILDS[$stream]) or fail("dup2: $!");
    }
    POSIX::write(1, "pipes\n", 6);
}

# A root without CAP_SYS_RESOURCE gets no more than /proc/sys/fs/pipe-max-size allows: then half of it, and so on.
sub widen {
    my ($pipe, $capacity) = ($_[0], 0 + $_[1]);    # To fcntl() a string, even of digits, is the address of a buffer.
    until (fcntl($pipe, $SET_CAPACITY, $capacity)) {
        return if $capacity <= 65536;
        $capacity /= 2;
    }
}

# Waits until the service has opened its ends, then puts the child's in their places.
sub take_pipes {
    my $answer = '';
    POSIX::read(0, $answer, 1) or POSIX::_exit(0);    # The service is gone: so is this.
    for my $stream (0 .. 2) {
        POSIX::dup2($CHILDS[$stream], $stream) // fail("dup2: $!");
        POSIX::close($_) for $OURS[$stream], $CHILDS[$stream];
    }
}

sub fail {
    POSIX::write(2, my $line = "$0: $_[0]\n", length "$0: $_[0]\n");
    POSIX::_exit(125);
}

1;
