# Starts one runtime (crun or runsc) for one cell, on the host, before anything untrusted exists.
#
# It first joins the cell's cgroups, which then hold everything that it executes. It gives the cell its own mount
# namespace with the cell's tmpfs, so that no mount can be left behind on the host. Then it executes the runtime. Node
# can do none of these: it has no unshare(2), no mount(2), and cannot act between fork and exec.
#
# Arguments: CELL_DIRECTORY ROOTFS ROOT_FLAGS ROOT_UID SIZE_BYTES INODES PIPE_BYTES ATTRIBUTES HOW LOOPBACK HIDE
#   CGROUP_FILE... -- TREE... -- COMMAND...
#   PIPE_BYTES is the size of its standard output and error, each; 0 keeps the kernel's default.
#   ATTRIBUTES is `hidden` if the runtime must find no extended attributes on the host, or `-`.
#   HOW is `overlay` or `bind`. Through an overlay mount a file has an inode that only this cell has. A bind mount shows the
#   host's inodes: a watch (inotify(7)) or a lock on one of them reveals who else opens it. `overlay` is for cells
#   whose programs use the host's kernel.
#   LOOPBACK is `up` if the cell gets a network namespace in which `lo` is up; `-` leaves the network to the runtime.
#   HIDE is a mount point to take away (the v2 mount of a hybrid cgroup layout, which crun refuses), or `-`.
#   Each TREE, a directory or a file, is shown at CELL_DIRECTORY/trees/N, counted from 0: the runtime gives up root's view of
#   the host before it mounts, and could not reach a tree below a directory that is closed to others, such as a data directory.
# Errors go to standard error, in one line, with exit code 125. Pipes are offered and taken as `pipes.pl` says.
use strict;
use warnings;
use Config ();
my ($here) = __FILE__ =~ m{^(.*)/}s;
require "$here/../output/pipes.pl";

my ($cell, $rootfs, $root_flags, $uid, $size, $inodes, $pipe_bytes, $attributes, $how, $loopback, $hide, @rest) = @ARGV;
my @procs = take_words();
my @trees = take_words();

my ($NOSUID, $NODEV, $NOEXEC, $REMOUNT, $BIND, $REC, $PRIVATE, $RDONLY) =
    (2, 4, 8, 32, 4096, 16384, 1 << 18, 1);
my $MNT_DETACH  = 2;
my $CLONE_NEWNS = 0x20000;
my $CLONE_NEWNET = 0x40000000;

die_with_parent();    # So do the runtime that this becomes, runsc's sandbox, and process 1 of a crun cell.
offer_pipes($pipe_bytes);
join_cgroup($_) for @procs;
raise_score();
system_call('unshare', $CLONE_NEWNS | ($loopback eq 'up' ? $CLONE_NEWNET : 0));
mount('none', '/', '', $REC | $PRIVATE, '');
system_call('umount2', $hide, $MNT_DETACH) if $hide ne '-';

# One tmpfs holds everything that a job can write. It bounds the job's files, and ends with this namespace.
mount('tmpfs', $cell, 'tmpfs', $NOSUID | $NODEV | $NOEXEC, "size=$size,nr_inodes=$inodes,mode=755");
directory("$cell/rootfs", 0755, 0);
directory("$cell/report", 0700, $uid);
directory("$cell/work",   0755, $uid + 1);
directory("$cell/work/input", 0755, 0);
directory("$cell/work/output", 0755, $uid + 1);
# Only the parts that a program may write to allow execution.
mount("$cell/work", "$cell/work", '', $BIND, '');
mount('none', "$cell/work", '', $BIND | $REMOUNT | $NOSUID | $NODEV, '');
directory("$cell/trees", 0755, 0);
if ($how eq 'overlay') {
    directory("$cell/nothing", 0755, 0);
    overlay($rootfs, "$cell/rootfs", $root_flags);
    overlay('/dev', '/dev', $NOSUID | $NOEXEC);    # The runtime takes the devices of the cell from there.
} else {
    mount($rootfs, "$cell/rootfs", '', $BIND, '');
    mount('none', "$cell/rootfs", '', $BIND | $REMOUNT | $root_flags, '');
}
show($trees[$_], "$cell/trees/$_") for 0 .. $#trees;
chdir '/';

bring_up_loopback() if $loopback eq 'up';

take_pipes();
hide_attributes() if $attributes eq 'hidden';
%ENV = (PATH => '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin');
exec { $rest[0] } @rest or fail("cannot start $rest[0]: $!");

# The words up to the next `--`, which is dropped.
sub take_words {
    my @words;
    push @words, shift @rest while @rest && $rest[0] ne '--';
    shift @rest;
    return @words;
}

# Refuses a link, which would show its target in place of the tree.
sub show {
    my ($tree, $at) = @_;
    fail("$tree is a symbolic link") if -l $tree;
    fail("$tree is not there")       if !-e $tree;
    return show_file($tree, $at) if !-d $tree;
    directory($at, 0755, 0);
    if ($how eq 'overlay') { overlay($tree, $at, $NOSUID | $NODEV) }
    else                   { mount($tree, $at, '', $BIND | $REC, '') }
}

# An overlay has only directories, so a file is shown through an overlay of its directory.
sub show_file {
    my ($file, $at) = @_;
    open(my $handle, '>', $at) or fail("cannot make $at: $!");
    return mount($file, $at, '', $BIND, '') if $how ne 'overlay';
    my ($directory, $name) = $file =~ m{^(.*)/([^/]+)\z}s;
    directory("$at.directory", 0755, 0);
    overlay($directory, "$at.directory", $NOSUID | $NODEV);
    mount("$at.directory/$name", $at, '', $BIND, '');
}

# The tree is named as the working directory, so that no name needs quoting. statfs(2) reports on the first layer, an
# empty directory of the cell: a read-only overlay must have two layers.
sub overlay {
    my ($tree, $at, $flags) = @_;
    chdir($tree) or fail("cannot enter $tree: $!");
    mount('overlay', $at, 'overlay', $RDONLY | $flags, "lowerdir=$cell/nothing:.");
}

# Sets the highest score: when the host itself runs out of memory, the kernel kills cells and not the service (proc(5),
# /proc/PID/oom_score_adj). A cell's /proc is read-only, so no program lowers its own.
sub raise_score {
    open(my $handle, '>', '/proc/self/oom_score_adj') or fail("cannot open oom_score_adj: $!");
    print {$handle} 1000;
    close($handle) or fail("cannot write oom_score_adj: $!");
}

# Sets a filter under which fgetxattr(2) answers EOPNOTSUPP and every other call is unchanged. gVisor calls it on a
# descriptor that cannot read a symbolic link and passes on the EBADF, which `ls -l` reports as an error.
sub hide_attributes {
    my ($machine) = $Config::Config{archname} =~ /^(\w+)-/;
    my ($architecture, $fgetxattr) = @{ { x86_64 => [0xc000003e, 193], aarch64 => [0xc00000b7, 10] }->{$machine} };
    my @filter = (
        [0x20, 0, 0, 4],                     # load the architecture
        [0x15, 0, 3, $architecture],         # another one: allow
        [0x20, 0, 0, 0],                     # load the number of the call
        [0x15, 0, 1, $fgetxattr],            # another one: allow
        [0x06, 0, 0, 0x00050000 | 95],       # SECCOMP_RET_ERRNO, EOPNOTSUPP
        [0x06, 0, 0, 0x7fff0000],            # SECCOMP_RET_ALLOW
    );
    my $instructions = join '', map { pack('SCCL', @$_) } @filter;
    my $program = pack('Sx6P', scalar @filter, $instructions);
    call('prctl', 22, 2, $program, 0, 0) == 0 or fail("prctl: $!");    # PR_SET_SECCOMP, SECCOMP_MODE_FILTER
}

# The network namespace belongs to the host, so that no process of the cell has a privilege over it. netdevice(7).
sub bring_up_loopback {
    socket(my $socket, 2, 2, 0) or fail("socket: $!");    # AF_INET, SOCK_DGRAM
    my $request = pack('a16 s x22', 'lo', 0x41);          # struct ifreq: IFF_UP and IFF_RUNNING
    ioctl($socket, 0x8914, $request) or fail("cannot bring up lo: $!");    # SIOCSIFFLAGS
}

sub join_cgroup {
    my ($file) = @_;
    open(my $handle, '>', $file) or fail("cannot open $file: $!");
    print {$handle} 0;    # This process, which has one thread.
    close($handle) or fail("cannot join $file: $!");
}

sub directory {
    my ($path, $mode, $owner) = @_;
    mkdir($path)                  or fail("cannot make $path: $!");
    chmod($mode, $path)           or fail("cannot chmod $path: $!");
    chown($owner, $owner, $path)  or fail("cannot chown $path: $!");
}

sub mount {
    my ($source, $target, $type, $flags, $data) = @_;
    system_call('mount', $source, $target, $type, $flags, $data);
}

sub system_call {
    my ($name, @arguments) = @_;
    # Turns numbers that came as text into numbers.
    call($name, map { /^\d+$/ ? 0 + $_ : "$_" } @arguments) == 0
        or fail("$name(@arguments): $!");
}
