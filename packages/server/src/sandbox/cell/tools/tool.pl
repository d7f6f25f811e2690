#!/usr/bin/perl
# tool NAME [ARGUMENTS]
#
# Calls a tool of this job with arguments in JSON, `{}` without any, `-` to read them from standard input. Prints its result in
# JSON, or its error on standard error with exit code 1. Several such processes may run at once: each reads for all while it
# waits, and leaves answers for others in files. They lock two bytes of the call pipe: one to write, and one to read.
use strict;
use warnings;
use Fcntl qw(F_SETLK F_SETLKW F_UNLCK F_WRLCK);

my ($ANSWERS, $CALLS) = (30, 31);
my ($WRITES, $READS) = (0, 1);
# The number of a call is the process id times this, plus a time, so that a later process with the same id has other numbers.
my $MILLISECONDS = 2**31;
my ($SHORT, $LONG) = (0.002, 0.05);
my $JSON = qr{
    (?(DEFINE)
        (?<space>  [ \t\r\n]*+ )
        (?<string> " (?: [^"\\\x00-\x1f]++ | \\ (?: ["\\/bfnrt] | u[0-9a-fA-F]{4} ) )*+ " )
        (?<number> -? (?: 0 | [1-9][0-9]*+ ) (?: \.[0-9]++ )?+ (?: [eE][+-]?[0-9]++ )?+ )
        (?<member> (?&space) (?&string) (?&space) : (?&value) )
        (?<value>  (?&space) (?: (?&string) | (?&number) | true | false | null
                   | \{ (?: (?&member) (?: , (?&member) )*+ | (?&space) ) \}
                   | \[ (?: (?&value) (?: , (?&value) )*+ | (?&space) ) \] ) (?&space) )
    )
    \A (?&value) \z
}x;

my ($tool, $arguments) = @ARGV;
leave(2, 'usage: tool NAME [JSON, or - to read it from standard input]') if !@ARGV || @ARGV > 2;
$arguments = '{}' if !defined $arguments;
$arguments = join '', <STDIN> if $arguments eq '-';
leave(2, 'the arguments are no JSON text') if !utf8::decode(my $text = $arguments) || $arguments !~ $JSON;
leave(2, 'no tool has this name') if $tool !~ /\A[A-Za-z0-9_-]{1,64}\z/;
open(my $answers, '<&=', $ANSWERS) && open(my $calls, '>&=', $CALLS)
    or leave(2, 'this process has not the descriptors of tools, 30 and 31');

my $number = $$ * $MILLISECONDS + now() % $MILLISECONDS;
my $left = '/tmp/.tool-' . (stat $calls)[1] . '-';
my $rest = '';
$arguments =~ tr/\r\n/  /;    # Only white space: a line is one call.
lock_byte($WRITES, F_WRLCK, F_SETLKW);
write_whole(qq({"call": $number, "tool": "$tool", "arguments": $arguments}\n));
lock_byte($WRITES, F_UNLCK, F_SETLK);

# Looks for the answer until it is there. Taking the answer ends this process.
my $pause = $SHORT;
while (1) {
    take_file();
    if (lock_byte($READS, F_WRLCK, F_SETLK)) { read_line() while 1 }
    select undef, undef, undef, $pause;
    $pause = $LONG if ($pause *= 1.5) > $LONG;
}

# Goes on until it has read whole lines: otherwise the next process would find the rest of a line.
sub read_line {
    take_file();
    my @lines;
    my $mine;
    do {
        wait_for_bytes();
        sysread($answers, $rest, 65536, length $rest) or leave(1, 'no more answers come');
        push @lines, $1 while $rest =~ s/\A(.*)\n//;
    } while length $rest;
    for my $line (@lines) {
        my ($call) = $line =~ /\A\{"call":([0-9]+),/ or next;
        if ($call == $number) { $mine = $line }
        else                  { leave_file($call, $line) }
    }
    take($mine) if defined $mine;
}

# Another program may have made the pipe non-blocking.
sub wait_for_bytes {
    vec(my $ready = '', $ANSWERS, 1) = 1;
    select $ready, undef, undef, undef;
}

sub leave_file {
    my ($call, $line) = @_;
    return if !kill 0, int($call / $MILLISECONDS);
    my $part = "$left$call.part";
    my $file;
    my $is_left = open($file, '>', $part) && print($file $line) && close($file) && rename($part, "$left$call");
    leave(1, "an answer could not be left for another process: $!") if !$is_left;
}

sub take_file {
    open(my $file, '<', "$left$number") or return;
    unlink "$left$number";
    local $/;
    take(scalar <$file>);
}

sub take {
    my ($answer) = @_;
    if ($answer =~ /\A\{"call":[0-9]+,"result":(.*)\}\z/s) { leave(0, undef, "$1\n") }
    my ($error) = $answer =~ /\A\{"call":[0-9]+,"error":"(.*)"\}\z/s;
    my %named = (b => "\b", f => "\f", n => "\n", r => "\r", t => "\t");
    utf8::decode($error);
    $error =~ s{\\u([dD][89abAB]..)\\u([dD][c-fC-F]..)}{chr(0x10000 + ((hex($1) & 0x3ff) << 10) + (hex($2) & 0x3ff))}ge;
    $error =~ s/\\(?:u(....)|(.))/defined $1 ? chr hex $1 : $named{$2} \/\/ $2/ge;
    utf8::encode($error);
    leave(1, $error);
}

sub write_whole {
    my ($bytes) = @_;
    while (length $bytes) {
        my $count = syswrite($calls, $bytes) // leave(1, "the call could not be made: $!");
        substr($bytes, 0, $count) = '';
    }
}

# Returns whether it got the lock: another process may have it. The structure is that of a 64-bit Linux: fcntl(2).
sub lock_byte {
    my ($at, $type, $command) = @_;
    return 1 if fcntl($calls, $command, pack('s s x4 q q i x4', $type, 0, $at, 1, 0));
    return $!{EAGAIN} || $!{EACCES} ? 0 : leave(1, "fcntl: $!");
}

sub now {
    open(my $file, '<', '/proc/uptime') or return time * 1000;
    return int(1000 * (split ' ', <$file>)[0]);
}

sub leave {
    my ($code, $error, $result) = @_;
    print STDOUT $result if defined $result;
    print STDERR "tool: $error\n" if defined $error;
    exit $code;
}
