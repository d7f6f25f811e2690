# Gives a process real pipes for stdin, stdout and stderr, and for its tools if it has tools, before it executes its program. The
# service opens the other ends through /proc/PID/fd. Node cannot make a pipe: it gives a child sockets, which no program can open
# again as /dev/stdin. A named pipe could be opened again, but opening it waits for the other end.
use strict;
use warnings;
use Config ();

# Calls for which perl has no function are made by number. POSIX.pm has such functions, but loading it takes longer than
# everything else here together.
my %NUMBERS = (
    x86_64 => {
        close => 3, dup3 => 292, exit_group => 231, prctl => 157, wait4 => 61,
    },
    aarch64 => {
        close => 57, dup3 => 24, exit_group => 94, prctl => 167, wait4 => 260,
    },
);
my ($machine) = $Config::Config{archname} =~ /^(\w+)-/;
my $number = $NUMBERS{$machine} or die "this machine is neither x86_64 nor aarch64\n";

# Makes a system call and returns its result, or -1 if it failed. A string is passed by address, so that the kernel can write to
# it, and a number by value.
sub call {
    my $name = shift;
    return syscall($number->{$name}, @_);
}

# Descriptors in the order stdin, stdout, stderr, tool answers, tool calls. OURS are the service's ends; `pipes.ts` has the same
# numbers. CHILDS are the numbers at which the child's ends are kept, and PLACES those at which the program gets them.
my @OURS   = (20, 21, 22, 28, 29);
my @CHILDS = (40, 41, 42, 43, 44);
my @PLACES = (0, 1, 2, 30, 31);
my %IS_READ = (0 => 1, 3 => 1);

# prctl(2): PR_SET_PDEATHSIG, and SIGKILL.
my ($SET_DEATH_SIGNAL, $KILL) = (1, 9);

# A service that was killed cannot end its children, so the kernel does. The setting stays in force over exec(2). It applies to
# the thread that started this process: the service's main thread. If that thread ended before this call, `take_pipes` notices it.
sub die_with_parent {
    call('prctl', $SET_DEATH_SIGNAL, $KILL, 0, 0, 0) == 0 or fail("prctl: $!");
}

# Makes this many pipes, and reports that on the present standard output.
sub offer_pipes {
    my ($count) = @_;
    for my $stream (0 .. $count - 1) {
        pipe(my $read, my $write) or fail("pipe: $!");
        chmod(0666, $read)        or fail("chmod: $!");    # A program of another user opens its own ends again by path.
        my ($ours, $childs) = $IS_READ{$stream} ? ($write, $read) : ($read, $write);
        duplicate(fileno($ours), $OURS[$stream]);
        duplicate(fileno($childs), $CHILDS[$stream]);
    }
    syswrite(STDOUT, "pipes\n");
}

# Waits until the service has opened its ends, then puts the child's ends in their places.
sub take_pipes {
    my ($count) = @_;
    my $answer = '';
    sysread(STDIN, $answer, 1) or call('exit_group', 0);    # The service is gone, so this process ends.
    for my $stream (0 .. $count - 1) {
        duplicate($CHILDS[$stream], $PLACES[$stream]);
        call('close', $_) for $OURS[$stream], $CHILDS[$stream];
    }
}

sub duplicate {
    my ($descriptor, $as) = @_;
    call('dup3', $descriptor, $as, 0) >= 0 or fail("dup3: $!");
}

sub fail {
    syswrite(STDERR, "$0: $_[0]\n");
    call('exit_group', 125);
}

1;
