# Tries controls of the kernel, each in a separate process, and prints the result in one line. Whatever a trial makes
# (namespaces, mounts, a filter) ends with that process.
#
# One line of standard input for each trial, its words separated by NUL: NUMBER CGROUP_PROCS... -- TRIAL ARGUMENT... The
# process joins the groups first. Answers are lines of standard output: `NUMBER said WHAT`, and when the process has
# ended `NUMBER ended SIGNAL CODE`. A trial that fails ends with code 1, after a line that says which call failed, and
# how.
use strict;
use warnings;
use Config ();

# POSIX.pm defines these numbers, but loading it takes longer than everything else here together.
my %NUMBER = (
    x86_64 => {
        exit_group => 231, getpriority => 140, inotify_add_watch => 254, inotify_init1 => 294, mount => 165, prctl => 157,
        setgid => 106, setuid => 105, unshare => 272,
    },
    aarch64 => {
        exit_group => 94, getpriority => 141, inotify_add_watch => 27, inotify_init1 => 26, mount => 40, prctl => 167,
        setgid => 144, setuid => 146, unshare => 97,
    },
);
my ($machine) = $Config::Config{archname} =~ /^(\w+)-/;
my $call = $NUMBER{$machine} or die "this machine is neither x86_64 nor aarch64\n";
my %FLAG = (
    mount => 0x20000, cgroup => 0x2000000, uts => 0x4000000, ipc => 0x8000000,
    user  => 0x10000000, pid => 0x20000000, network => 0x40000000,
);
my %LINK = (mount => 'mnt', network => 'net');
my ($PR_SET_SECCOMP, $PR_SET_PDEATHSIG, $PR_SET_NO_NEW_PRIVS, $PR_GET_NO_NEW_PRIVS) = (22, 1, 38, 39);
my %TRIAL = (
    namespace         => \&namespace,
    user              => \&user_namespace,
    mount             => \&private_mount,
    network           => \&network,
    overlay           => \&overlay,
    seccomp           => \&seccomp,
    no_new_privileges => \&no_new_privileges,
    allocate          => \&allocate,
    fork              => \&fork_until_refused,
    wait              => \&wait_with_child,
);

$| = 1;
die_with_parent();
$SIG{CHLD} = 'IGNORE';
while (defined(my $line = <STDIN>)) {
    chomp $line;
    my ($number, @words) = split /\0/, $line, -1;
    my $child = fork();
    if (!defined $child) { give_up($number, "fork: $!") }
    elsif ($child == 0) { answer($number, @words); leave(0) }
}
leave(0);

# Passes on the lines of a trial, and how it ended.
sub answer {
    my ($number, @words) = @_;
    $SIG{CHLD} = 'DEFAULT';
    die_with_parent();
    pipe(my $read, my $write) or return give_up($number, "pipe: $!");
    my $child = fork() // return give_up($number, "fork: $!");
    if ($child == 0) {
        die_with_parent();
        open(STDIN, '<', '/dev/null') or fail("open: $!");
        open($_, '>&', $write) or leave(1) for *STDOUT, *STDERR;
        close $_ for $read, $write;
        try_control(@words);
    }
    close $write;
    while (sysread($read, my $said, 1024)) {
        $said =~ tr/\n/ /;
        answer_with("$number said $said");
    }
    waitpid($child, 0);
    answer_with("$number ended " . ($? & 127) . ' ' . ($? >> 8));
}

sub give_up {
    my ($number, $why) = @_;
    answer_with("$number said $why");
    answer_with("$number ended 0 1");
}

sub try_control {
    my (@words) = @_;
    while (@words && $words[0] ne '--') { write_file(shift @words, $$) }
    shift @words;
    my $name = shift @words;
    my $trial = $TRIAL{ $name // '' } or fail('no such trial');
    print $trial->(@words), "\n";
    leave(0);
}

# Writes an answer at once, because other answers are on the same pipe.
sub answer_with {
    my ($line) = @_;
    syswrite(STDOUT, "$line\n");
}

sub die_with_parent {
    syscall($call->{prctl}, $PR_SET_PDEATHSIG, 9, 0, 0, 0);
}

sub namespace {
    my ($kind) = @_;
    my $link = "/proc/self/ns/" . ($LINK{$kind} // $kind);
    my $before = readlink($link) // fail("readlink $link: $!");
    unshare($FLAG{$kind});
    return in_child(sub { (readlink($link) eq $before ? 'the same namespace' : 'its own namespace') . ", process $$" })
        if $kind eq 'pid';    # Only the caller's children are in the new namespace.
    return readlink($link) eq $before ? 'the same namespace' : 'its own namespace';
}

# The mapping of a cell: root and one user inside, two users that own nothing outside.
sub user_namespace {
    my ($root) = @_;
    pipe(my $ready_read, my $ready_write) or fail("pipe: $!");
    pipe(my $go_read,    my $go_write)    or fail("pipe: $!");
    pipe(my $said_read,  my $said_write)  or fail("pipe: $!");
    my $child = fork() // fail("fork: $!");
    if ($child == 0) {
        close $go_write;
        unshare($FLAG{user});
        syswrite($ready_write, 'r');
        sysread($go_read, my $go, 1) or leave(1);
        syscall($call->{$_}, 1000) == 0 or fail("$_: $!") for qw(setgid setuid);
        syswrite($said_write, "$<");
        sysread($go_read, $go, 1);
        leave(0);
    }
    close $_ for $ready_write, $go_read, $said_write;
    sysread($ready_read, my $ready, 1) or fail_with_child($child);
    my $map = "0 $root 1\n1000 " . ($root + 1) . " 1\n";
    write_file("/proc/$child/$_", $map) for qw(uid_map gid_map);
    syswrite($go_write, 'g');
    sysread($said_read, my $inside, 16) or fail_with_child($child);
    my ($outside) = slurp("/proc/$child/status") =~ /^Uid:\s+(\d+)/m;
    close $go_write;
    waitpid($child, 0);
    return "user $inside inside is user $outside outside";
}

sub private_mount {
    my ($directory) = @_;
    unshare($FLAG{mount});
    mount('none', '/', '', 0x44000, '');                                          # MS_REC | MS_PRIVATE
    mount('tmpfs', $directory, 'tmpfs', 2 | 4 | 8, 'size=1048576,nr_inodes=16');    # MS_NOSUID | MS_NODEV | MS_NOEXEC
    open(my $file, '>', "$directory/file") or fail("open: $!");
    my ($written, $chunk) = (0, 'x' x 65536);
    while ($written < 4 * 1048576) {
        my $count = syswrite($file, $chunk) // last;
        $written += $count;
    }
    close $file;
    unlink "$directory/file";
    my $files = 0;
    $files++ while $files < 64 && open(my $new, '>', "$directory/$files");
    return "$written bytes and $files files until full";
}

# Two overlays of /usr: a file opened through one of them gives an event on that one alone.
sub overlay {
    my ($directory) = @_;
    unshare($FLAG{mount});
    mount('none', '/', '', 0x44000, '');                   # MS_REC | MS_PRIVATE
    mount('tmpfs', $directory, 'tmpfs', 2 | 4 | 8, '');    # MS_NOSUID | MS_NODEV | MS_NOEXEC
    for my $name (qw(nothing one other)) { mkdir "$directory/$name" or fail("mkdir: $!") }
    mount('overlay', "$directory/$_", 'overlay', 1 | 2 | 4, "lowerdir=$directory/nothing:/usr") for qw(one other);
    my %watched = map { $_ => watch("$directory/$_/bin") } qw(one other);
    open(my $file, '<', "$directory/one/bin/perl") or fail("open: $!");
    my @seen = grep { sysread($watched{$_}, my $event, 4096) } sort keys %watched;
    return "@seen" eq 'one' ? 'seen here alone' : "seen through: @seen";
}

# A queue that reports when a file is opened in a directory.
sub watch {
    my ($directory) = @_;
    my $descriptor = syscall($call->{inotify_init1}, 0x800);    # IN_NONBLOCK
    $descriptor >= 0 or fail("inotify_init1: $!");
    syscall($call->{inotify_add_watch}, $descriptor, "$directory", 0x20) >= 0 or fail("inotify_add_watch: $!");    # IN_OPEN
    open(my $queue, '<&=', $descriptor) or fail("inotify: $!");
    return $queue;
}

sub network {
    require Socket;
    unshare($FLAG{network});
    my @names = slurp('/proc/self/net/dev') =~ /^\s*([^\s:|]+):/mg;
    socket(my $socket, Socket::PF_INET(), Socket::SOCK_STREAM(), 0) or fail("socket: $!");
    my $reached = connect($socket, Socket::pack_sockaddr_in(80, Socket::inet_aton('192.0.2.1')));    # TEST-NET-1, RFC 5737
    return "interfaces @names, a connection " . ($reached ? 'succeeds' : "fails ($!)");
}

# A filter that refuses one harmless call, as a cell's filter refuses many.
sub seccomp {
    syscall($call->{prctl}, $PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 or fail("prctl(PR_SET_NO_NEW_PRIVS): $!");
    my $filter = join '',
        pack('SCCL', 0x20, 0, 0, 0),                         # A = the call's number
        pack('SCCL', 0x15, 0, 1, $call->{getpriority}),      # where it is getpriority
        pack('SCCL', 0x06, 0, 0, 0x00050000 | 1),            # refuse with EPERM
        pack('SCCL', 0x06, 0, 0, 0x7fff0000);                # else allow
    my $program = pack('S x6 P', 4, $filter);
    syscall($call->{prctl}, $PR_SET_SECCOMP, 2, $program, 0, 0) == 0 or fail("prctl(PR_SET_SECCOMP): $!");
    my $answer = syscall($call->{getpriority}, 0, 0);
    my $error = $answer < 0 ? "$!" : 'no error';
    my ($mode) = slurp('/proc/self/status') =~ /^Seccomp:\s+(\d+)/m;
    return "mode $mode, the refused call gives: $error";
}

sub no_new_privileges {
    syscall($call->{prctl}, $PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 or fail("prctl(PR_SET_NO_NEW_PRIVS): $!");
    my $undone = syscall($call->{prctl}, $PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0;
    my $held = syscall($call->{prctl}, $PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
    return "held $held, and " . ($undone ? 'it can be undone' : 'it cannot be undone');
}

sub allocate {
    my ($bytes) = @_;
    my $memory = 'x' x $bytes;
    return length($memory) . ' bytes';
}

sub fork_until_refused {
    my ($most) = @_;
    my @children;
    my $error = 'no error';
    while (@children < $most) {
        my $child = fork();
        if (!defined $child) { $error = "$!"; last }
        if ($child == 0) { sleep 60; leave(0) }
        push @children, $child;
    }
    kill 'KILL', @children;
    waitpid($_, 0) for @children;
    return scalar(@children) . " children, then: $error";
}

sub wait_with_child {
    my $child = fork() // fail("fork: $!");
    print "waiting\n" if $child;
    sleep 60;
    leave(0);
}

sub in_child {
    my ($work) = @_;
    pipe(my $read, my $write) or fail("pipe: $!");
    my $child = fork() // fail("fork: $!");
    if ($child == 0) { syswrite($write, $work->()); leave(0) }
    close $write;
    sysread($read, my $said, 4096) or fail_with_child($child);
    waitpid($child, 0);
    return $said;
}

sub unshare {
    my ($flag) = @_;
    syscall($call->{unshare}, $flag) == 0 or fail("unshare: $!");
}

sub mount {
    my ($source, $target, $type, $flags, $data) = @_;
    # syscall() passes a string by its address and a number by its value, so the types must stay as they are.
    syscall($call->{mount}, "$source", "$target", "$type", 0 + $flags, "$data") == 0 or fail("mount $target: $!");
}

sub write_file {
    my ($path, $text) = @_;
    open(my $handle, '>', $path)       or fail("cannot open $path: $!");
    syswrite($handle, $text)           or fail("cannot write $path: $!");
    close($handle)                     or fail("cannot write $path: $!");
}

sub slurp {
    my ($path) = @_;
    open(my $handle, '<', $path) or fail("cannot open $path: $!");
    local $/;
    return scalar <$handle>;
}

# Ends without the work that perl does at its own end and that a child would repeat for its parent.
sub leave {
    my ($code) = @_;
    syscall($call->{exit_group}, $code);
}

sub fail_with_child {
    my ($child) = @_;
    waitpid($child, 0);
    leave(1);    # The child has said why.
}

sub fail {
    print STDERR "$_[0]\n";
    leave(1);
}
