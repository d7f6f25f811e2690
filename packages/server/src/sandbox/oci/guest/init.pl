# Process 1 of a cell: starts the one interpreter as the job's user, reports to the host what the kernel says about it,
# sets the file, CPU and process limits at the hand-over, and reports how the program ended.
#
# It runs as another user than the job, so the job can neither signal it, nor read or change it. Only it can write to
# the report directory, so the host can trust the report and distinguish an exit code from a signal.
#
# On standard output, before any job exists:   `ready LENGTH\n` and LENGTH bytes of what /proc says of the interpreter
# On standard input, one line of 64 bytes:     `limits FSIZE_BYTES CPU_SECONDS PROCESSES HEAP_MB`, padded, then LF
# On standard output, before the program runs: `limits FSIZE_BYTES CPU_SECONDS PROCESSES\n`, read back from the kernel
# On standard input, one line of 64 bytes:     `run BYTES ARGUMENTS`, padded, then LF; BYTES of words for the launcher; every
#                                              later byte is the program's own stdin
# In the report directory, when all is dead:   `ending`, one line of 64 bytes: `exited CODE` or `signaled NUMBER`, padded, then
#                                              LF; of a language that is compiled also `compiling`, `running` and `compiler
#                                              exited CODE` or the like
# Its arguments: the number of words in the compiler's command, 0 if there is none; these words; the words of the
# program's command. Exit code 125 says that init itself failed.
use strict;
use warnings;
use Config ();

my $JOB_UID = 1000;
my $REPORT  = '/svc/report';
# POSIX.pm defines these numbers, but loading it takes longer than everything else here together.
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

# The runtime ends with the service, however that ends, and the cell ends with the runtime.
syscall($call->{prctl}, 1, 9, 0, 0, 0) == 0 or fail("prctl: $!");    # PR_SET_PDEATHSIG
my @compiler = take_words(shift @ARGV);
my $compiler = @compiler ? start_waiting('/dev/null', @compiler) : undef;
my $program  = start_waiting(undef, @ARGV);
my @waiting  = grep { defined } $compiler, $program;

# The report gets its room now: a program may fill the file system of the report, and its end must still be reported.
write_file("$REPORT/ending", ' ' x 64);
sysread($_->{ready}, my $byte, 1) == 1 or ended_early($_->{pid}) for @waiting;
say_ready($program->{pid});
my $heap_mb = set_limits(read_line(qr/^limits (\d+) (\d+) (\d+) (\d+) *\n\z/));
my ($bytes, $arguments) = read_line(qr/^run (\d+) (\d+) *\n\z/);
my $words = read_bytes($bytes);
open(STDIN, '<', '/dev/null');
compile() if $compiler;
release($program, "$heap_mb $arguments\n$words");
report(ending(wait_for($program)));
syscall($call->{exit_group}, 0);

sub take_words {
    my ($count) = @_;
    return splice(@ARGV, 0, $count);
}

# Starts an interpreter that reports when it is up, and then waits. Without `$input` its stdin is the program's.
sub start_waiting {
    my ($input, @command) = @_;
    pipe(my $ready_read, my $ready_write) or fail("pipe: $!");
    pipe(my $go_read,    my $go_write)    or fail("pipe: $!");
    my $pid = fork() // fail("fork: $!");
    if ($pid == 0) {
        !defined $input or open(STDIN, '<', $input) or fail("cannot open $input: $!");
        become_interpreter($go_read, $ready_write, @command);
    }
    return { pid => $pid, ready => $ready_read, go => $go_write };
}

# In the child: gives up every privilege, then executes the interpreter, which waits on descriptor 3.
sub become_interpreter {
    my ($go_read, $ready_write, @command) = @_;
    syscall($call->{setsid});
    for my $capability (0 .. 63) {
        last if syscall($call->{prctl}, 24, $capability, 0, 0, 0) != 0;    # PR_CAPBSET_DROP, up to the last one known
    }
    syscall($call->{setgroups}, 0, 0) == 0                    or fail("setgroups: $!");
    syscall($call->{setgid}, $JOB_UID) == 0                   or fail("setgid: $!");
    syscall($call->{setuid}, $JOB_UID) == 0                   or fail("setuid: $!");
    fail('the job would keep privileges') if grep { $_ != $JOB_UID } $<, $>, split / /, "$( $)";
    # Uses two free descriptors in between, because the two for 3 and 4 may be there in the opposite order.
    duplicate(fileno($go_read), 20);
    duplicate(fileno($ready_write), 21);
    duplicate(20, 3);
    duplicate(21, 4);
    syscall($call->{close}, $_) for 5 .. 21;
    umask 0022;
    chdir '/work' or fail("chdir: $!");
    exec { $command[0] } @command or fail("cannot start $command[0]: $!");
}

# Lets an interpreter go on with these words, after which the descriptor ends.
sub release {
    my ($waiting, $told) = @_;
    syswrite_all($waiting->{go}, $told);
    close $waiting->{go};
}

# Compiles the program while its interpreter still waits. If that fails, the job is over. The phase is reported when it
# begins, so that the service knows that the program never ran if the cell is ended meanwhile.
sub compile {
    report('compiling');
    release($compiler, "$heap_mb 0\n");
    my $status = wait_for($compiler);
    if ($status != 0) {
        report('compiler ' . ending($status));
        syscall($call->{exit_group}, 0);
    }
    report('running');
}

# Reports what the kernel inside says. Under gVisor there is no other source.
sub say_ready {
    my ($interpreter) = @_;
    my $report = '';
    for my $file ("/proc/$interpreter/status", "/proc/$interpreter/mountinfo", '/proc/net/dev', '/proc/version') {
        $report .= "==> $file\n" . (slurp($file) // "unreadable\n");
    }
    for my $name (qw(mnt pid net ipc uts user cgroup)) {
        $report .= "==> ns/$name\n" . (readlink("/proc/$interpreter/ns/$name") // 'unreadable') . "\n";
    }
    $report =~ s{^==> /proc/\d+/}{==> }mg;
    $report .= "==> no_new_privs\n" . syscall($call->{prctl}, 39, 0, 0, 0, 0) . "\n";    # PR_GET_NO_NEW_PRIVS
    syswrite_all(\*STDOUT, 'ready ' . length($report) . "\n" . $report);
}

# Reads one line from the host, in a known form.
sub read_line {
    my ($form) = @_;
    my @words = read_bytes(64) =~ $form or fail('malformed line from the host');
    return @words;
}

# Reads exactly this many bytes: those that follow belong to the program.
sub read_bytes {
    my ($length) = @_;
    my $bytes = '';
    while (length $bytes < $length) {
        my $count = sysread(STDIN, $bytes, $length - length $bytes, length $bytes);
        leave() if !$count;    # the host is gone, or closed the cell before any job was released
    }
    return $bytes;
}

# Kills the interpreter first. Otherwise this process could close its descriptors before the kernel kills the interpreter,
# which would then read the end of the pipe that releases it.
sub leave {
    kill 'KILL', map { $_->{pid} } @waiting;
    syscall($call->{exit_group}, 0);
}

sub set_limits {
    my ($fsize, $cpu, $processes, $heap_mb) = @_;
    for my $pid (map { $_->{pid} } @waiting) {
        set_limit($pid, $RLIMIT_FSIZE, $fsize, $fsize);
        set_limit($pid, $RLIMIT_CPU,   $cpu,   $cpu + 1);
        set_limit($pid, $RLIMIT_NPROC, $processes, $processes);
    }
    my @held = map { held_limit($_) } $RLIMIT_FSIZE, $RLIMIT_CPU, $RLIMIT_NPROC;
    syswrite_all(\*STDOUT, "limits @held\n");
    return $heap_mb;
}

sub set_limit {
    my ($pid, $resource, $soft, $hard) = @_;
    my $new = pack('QQ', $soft, $hard);
    syscall($call->{prlimit64}, $pid, $resource, $new, 0) == 0 or fail("prlimit64 $resource: $!");
}

sub held_limit {
    my ($resource) = @_;
    my $held = "\0" x 16;
    syscall($call->{prlimit64}, $program->{pid}, $resource, 0, $held) == 0 or fail("prlimit64 $resource: $!");
    return (unpack('QQ', $held))[0];
}

# Returns the interpreter's wait status, and reaps every other child of process 1 meanwhile.
sub wait_for {
    my ($waiting) = @_;
    while (1) {
        my $pid = waitpid(-1, 0);
        return $? if $pid == $waiting->{pid};
        fail("waitpid: $!") if $pid < 0;
    }
}

sub ending {
    my ($status) = @_;
    kill 'KILL', -1;                   # everything the program left behind, before its end is reported
    1 while waitpid(-1, 0) > 0;
    my $signal = $status & 127;
    return $signal ? "signaled $signal" : 'exited ' . ($status >> 8);
}

sub ended_early {
    my ($pid) = @_;
    waitpid($pid, 0);
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

# The line always has the same length, so that one write replaces it: the host reads either this line or the one before.
sub report {
    my ($text) = @_;
    open(my $handle, '+<', "$REPORT/ending") or fail("cannot open the report: $!");
    syswrite_all($handle, sprintf("%-63s\n", $text));
    close($handle);
}

sub syswrite_all {
    my ($handle, $text) = @_;
    my $offset = 0;
    while ($offset < length $text) {
        my $count = syswrite($handle, $text, length($text) - $offset, $offset) // fail("write: $!");
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
