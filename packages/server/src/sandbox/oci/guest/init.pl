# Process 1 of a cell: starts the one interpreter as the job's user, tells the host what the kernel says of it, sets the
# file, CPU and process limits when a job is handed over, and says how the program ended.
#
# It runs as another user than the job, so the job can neither signal it, nor read or change it. It is the only writer of
# the report directory, which is how the host knows an exit code from a signal and a forged ending from a true one.
#
# On standard output, before any job exists:   `ready LENGTH\n` and LENGTH bytes of what /proc says of the interpreter
# On standard input, one line of 64 bytes:     `limits FSIZE_BYTES CPU_SECONDS PROCESSES HEAP_MB`, padded, then LF
# On standard output, before the program runs: `limits FSIZE_BYTES CPU_SECONDS PROCESSES\n`, read back from the kernel
# On standard input, one line of 64 bytes:     `run`, padded, then LF; every later byte is the program's own stdin
# In the report directory, when all is dead:   `ending`, holding `exited CODE\n` or `signaled NUMBER\n`
# Exit code 125 says that init itself failed.
use strict;
use warnings;
use Config ();

my $JOB_UID = 1000;
my $REPORT  = '/svc/report';
# POSIX.pm has words for these, and takes longer to load than everything else here takes together.
my %NUMBERS = (
    x86_64 => {
        close  => 3,   dup3      => 292, exit_group => 231, prctl  => 157,
        setgid => 106, setgroups => 116, setsid     => 112, setuid => 105, prlimit64 => 302,
    },
    aarch64 => {
        close  => 57,  dup3      => 24,  exit_group => 94,  prctl  => 167,
        setgid => 144, setgroups => 159, setsid     => 157, setuid => 146, prlimit64 => 261,
    },
);
my ($machine) = $Config::Config{archname} =~ /^(\w+)-/;
my $call = $NUMBERS{$machine} or die "unknown machine\n";
my ($RLIMIT_CPU, $RLIMIT_FSIZE, $RLIMIT_NPROC) = (0, 1, 6);

# The runtime ends with the service, however that ends; and the cell with the runtime.
syscall($call->{prctl}, 1, 9, 0, 0, 0) == 0 or fail("prctl: $!");    # PR_SET_PDEATHSIG
pipe(my $ready_read, my $ready_write) or fail("pipe: $!");
pipe(my $go_read,    my $go_write)    or fail("pipe: $!");
my $interpreter = fork() // fail("fork: $!");
become_interpreter() if $interpreter == 0;
close $ready_write;
close $go_read;

# Its room is taken now: a program may fill the file system that the report is on, and its end must still be told.
write_file("$REPORT/ending", ' ' x 64);
sysread($ready_read, my $byte, 1) == 1 or ended_early();
say_ready();
my $heap_mb = set_limits(read_line(qr/^limits (\d+) (\d+) (\d+) (\d+) *\n\z/));
read_line(qr/^(run) *\n\z/);
open(STDIN, '<', '/dev/null');
syswrite($go_write, "$heap_mb\n");
close $go_write;
overwrite_file("$REPORT/ending", ending(wait_for_interpreter()));
syscall($call->{exit_group}, 0);

# The child: loses every privilege it could ever use, then becomes the interpreter, which waits on descriptor 3.
sub become_interpreter {
    syscall($call->{setsid});
    write_file('/proc/self/oom_score_adj', 1000);
    for my $capability (0 .. 63) {
        last if syscall($call->{prctl}, 24, $capability, 0, 0, 0) != 0;    # PR_CAPBSET_DROP, up to the last one known
    }
    syscall($call->{setgroups}, 0, 0) == 0                    or fail("setgroups: $!");
    syscall($call->{setgid}, $JOB_UID) == 0                   or fail("setgid: $!");
    syscall($call->{setuid}, $JOB_UID) == 0                   or fail("setuid: $!");
    fail('the job would keep privileges') if grep { $_ != $JOB_UID } $<, $>, split / /, "$( $)";
    # By way of two that are free: what is to go to 3 and 4 may be there the other way round.
    duplicate(fileno($go_read), 10);
    duplicate(fileno($ready_write), 11);
    duplicate(10, 3);
    duplicate(11, 4);
    syscall($call->{close}, $_) for 5 .. 11;
    umask 0022;
    chdir '/work' or fail("chdir: $!");
    exec { $ARGV[0] } @ARGV or fail("cannot start $ARGV[0]: $!");
}

# What the kernel inside says: the only witness where the kernel is gVisor's.
sub say_ready {
    my $report = '';
    for my $file ("/proc/$interpreter/status", "/proc/$interpreter/mountinfo", '/proc/net/dev', '/proc/version') {
        $report .= "==> $file\n" . (slurp($file) // "unreadable\n");
    }
    for my $name (qw(mnt pid net ipc uts user cgroup)) {
        $report .= "==> ns/$name\n" . (readlink("/proc/$interpreter/ns/$name") // 'unreadable') . "\n";
    }
    $report =~ s{^==> /proc/\d+/}{==> }mg;
    $report .= "==> no_new_privs\n" . syscall($call->{prctl}, 39, 0, 0, 0, 0) . "\n";    # PR_GET_NO_NEW_PRIVS
    syswrite_all('ready ' . length($report) . "\n" . $report);
}

# Reads exactly one line of the host's and not a byte more: what follows belongs to the program.
sub read_line {
    my ($form) = @_;
    my $line = '';
    while (length $line < 64) {
        my $count = sysread(STDIN, $line, 64 - length $line, length $line);
        leave() if !$count;    # the host is gone, or closed the cell before any job was released
    }
    my @words = $line =~ $form or fail('malformed line from the host');
    return @words;
}

# Descriptors close before the kernel kills what process 1 leaves behind: the interpreter would see its go end.
sub leave {
    kill 'KILL', $interpreter;
    syscall($call->{exit_group}, 0);
}

sub set_limits {
    my ($fsize, $cpu, $processes, $heap_mb) = @_;
    set_limit($RLIMIT_FSIZE, $fsize, $fsize);
    set_limit($RLIMIT_CPU,   $cpu,   $cpu + 1);
    set_limit($RLIMIT_NPROC, $processes, $processes);
    my @held = map { held_limit($_) } $RLIMIT_FSIZE, $RLIMIT_CPU, $RLIMIT_NPROC;
    syswrite_all("limits @held\n");
    return $heap_mb;
}

sub set_limit {
    my ($resource, $soft, $hard) = @_;
    my $new = pack('QQ', $soft, $hard);
    syscall($call->{prlimit64}, $interpreter, $resource, $new, 0) == 0 or fail("prlimit64 $resource: $!");
}

sub held_limit {
    my ($resource) = @_;
    my $held = "\0" x 16;
    syscall($call->{prlimit64}, $interpreter, $resource, 0, $held) == 0 or fail("prlimit64 $resource: $!");
    return (unpack('QQ', $held))[0];
}

# Returns the interpreter's wait status; every other child of this process 1 is reaped on the way.
sub wait_for_interpreter {
    while (1) {
        my $pid = waitpid(-1, 0);
        return $? if $pid == $interpreter;
        fail("waitpid: $!") if $pid < 0;
    }
}

sub ending {
    my ($status) = @_;
    kill 'KILL', -1;                   # everything the program left behind, before its end is told
    1 while waitpid(-1, 0) > 0;
    my $signal = $status & 127;
    return $signal ? "signaled $signal\n" : 'exited ' . ($status >> 8) . "\n";
}

sub ended_early {
    waitpid($interpreter, 0);
    fail("the interpreter ended before it was ready, wait status $?");
}

sub duplicate {
    my ($descriptor, $as) = @_;
    syscall($call->{dup3}, $descriptor, $as, 0) >= 0 or fail("dup3: $!");
}

sub write_file {
    my ($path, $text) = @_;
    open(my $handle, '>', $path) or fail("cannot write $path: $!");
    print {$handle} $text;
    close($handle) or fail("cannot write $path: $!");
}

sub overwrite_file {
    my ($path, $text) = @_;
    open(my $handle, '+<', $path)     or fail("cannot open $path: $!");
    print {$handle} $text             or fail("cannot write $path: $!");
    truncate($handle, length($text))  or fail("cannot cut $path: $!");
    close($handle)                    or fail("cannot write $path: $!");
}

sub syswrite_all {
    my ($text) = @_;
    my $offset = 0;
    while ($offset < length $text) {
        my $count = syswrite(STDOUT, $text, length($text) - $offset, $offset) // fail("write: $!");
        $offset += $count;
    }
}

sub slurp {
    my ($path) = @_;
    open(my $handle, '<', $path) or return undef;
    local $/;
    return scalar <$handle>;
}

sub fail {
    print STDERR "init: $_[0]\n";
    syscall($call->{exit_group}, 125);
}
