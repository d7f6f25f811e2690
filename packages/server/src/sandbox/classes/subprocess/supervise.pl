# Runs a command. The first argument is the number of the command's pipes: 3 for stdin, stdout and stderr, or 5 if it has tools.
# The other arguments are the command. Reports the command's end, from waitpid(2), on descriptor 5: `exited CODE\n` or `signaled
# NUMBER\n`. Node only knows some signals, and reports an end by any other signal as exit code 0.
use strict;
use warnings;
my ($here) = __FILE__ =~ m{^(.*)/}s;
require "$here/pipes.pl";

my $REPORT = 5;
my $STOPPED = 0x7f;
my @SIGNALS = grep { !/^(?:KILL|STOP|CHLD|CLD)$/ } keys %SIG;

die_with_parent();
my $pipes = shift @ARGV;
offer_pipes($pipes);
take_pipes($pipes);
# A program may signal its whole group, to which this process belongs. This process must survive to report the program's end.
$SIG{$_} = 'IGNORE' for @SIGNALS;
my $program = fork() // fail("fork: $!");
become_program() if $program == 0;
# Closes the program's descriptors here, so that each pipe ends once the program's last process has closed it.
call('close', $_) for 0 .. 4, 30, 31;
open(my $report, '>&=', $REPORT) or fail("cannot report: $!");
syswrite($report, ending());

# A program that asked to be traced stops where another would be signalled. Nobody traces it, so a stop is its end.
sub ending {
    my $status = wait_for_program();
    while (($status & 0xff) == $STOPPED) {
        kill 'KILL', $program;
        $status = wait_for_program();
    }
    my $signal = $status & 127;
    return $signal ? "signaled $signal\n" : 'exited ' . ($status >> 8) . "\n";
}

# The status from the kernel, because perl's own function takes a stop for an end with code 0.
sub wait_for_program {
    my $status = pack('i', 0);
    call('wait4', $program, $status, 0, 0) == $program or call('exit_group', 125);
    return unpack('i', $status);
}

sub become_program {
    die_with_parent();
    $SIG{$_} = 'DEFAULT' for @SIGNALS;
    call('close', $REPORT);
    exec { $ARGV[0] } @ARGV or fail("cannot start $ARGV[0]: $!");
}
