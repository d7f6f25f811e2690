# Carries the files of a session from one program to the next: unpacks them, runs the command in the arguments, and keeps them if
# the command ends with the exit code 0. Only cells read a state.
use strict;
use warnings;
use Fcntl qw(O_CREAT O_EXCL O_RDONLY O_WRONLY S_IMODE);
use POSIX ();

my $MAGIC = "session state 1 files\n";
my $BYTES_MAX = 64 * 1024 * 1024;
my $TOLD_MAX = 256;
my $CHARS_MAX = 200;
my ($WORK) = $0 =~ m{^(.*)/input/\.session/step\.pl$}s or die "this is no step of a session\n";
my $OWN = "$WORK/output/.session";
# The files that the service puts beside the program's own.
my %OWN = map { $_ => 1 } qw(input output/.session main.sh main.rb main.php main.lua main.R);

sub coded { return $_[0] =~ s{([^A-Za-z0-9_./-])}{sprintf '%%%02X', ord $1}gesr }
sub decoded { return $_[0] =~ s{%([0-9A-F]{2})}{chr hex $1}ger }

my ($out, $size);

sub put {
    $size += length $_[0];
    die "TooLarge: the state has more than $BYTES_MAX bytes\n" if $size > $BYTES_MAX;
    print {$out} $_[0] or die "TooLarge: the state cannot be written: $!\n";
}

my ($count, @not_kept) = (0);

sub keep_one {
    my ($path) = @_;
    my @stat = lstat "$WORK/$path" or die "it cannot be read: $!\n";
    my $mode = sprintf '%o', S_IMODE($stat[2]);
    if (-l _) {
        put('link ' . coded(readlink "$WORK/$path") . ' ' . coded($path) . "\n");
    } elsif (-d _) {
        put("directory $mode " . coded($path) . "\n");
    } elsif (-f _) {
        sysopen my $file, "$WORK/$path", O_RDONLY or die "it cannot be read: $!\n";
        die "TooLarge: the state has more than $BYTES_MAX bytes\n" if $stat[7] > $BYTES_MAX;
        my $content = do { local $/; <$file> } // '';
        put("file $mode " . length($content) . ' ' . coded($path) . "\n");
        put($content);
    } else {
        die "it is no file, directory or link\n";
    }
}

sub keep_below {
    my ($directory) = @_;
    opendir my $found, "$WORK/$directory" or die "it cannot be read: $!\n";
    for my $name (sort grep { !/^\.\.?\z/s } readdir $found) {
        my $path = $directory eq '' ? $name : "$directory/$name";
        next if $OWN{$path};
        eval {
            keep_one($path);
            $count++;
            keep_below($path) if -d "$WORK/$path" && !-l "$WORK/$path";
            1;
        } or do {
            die $@ if $@ =~ /^TooLarge/;
            push @not_kept, [$path, $@];
        };
    }
}

sub load_state {
    open my $state, '<:raw', "$WORK/input/.session/state" or return;
    (<$state> // '') eq $MAGIC or die "it is no state of a session of files\n";
    my @modes;
    while (defined(my $line = <$state>)) {
        chomp $line;
        my ($kind, @words) = split / /, $line;
        my $place = "$WORK/" . decoded($words[-1]);
        if ($kind eq 'link') {
            symlink decoded($words[0]), $place or die "a link cannot be made: $!\n";
            next;
        }
        if ($kind eq 'directory') {
            -d $place or mkdir $place or die "a directory cannot be made: $!\n";
        } else {
            sysopen my $file, $place, O_WRONLY | O_CREAT | O_EXCL or die "a file cannot be made: $!\n";
            read $state, my $content, $words[1];
            print {$file} $content and close $file or die "a file cannot be written: $!\n";
        }
        push @modes, [oct $words[0], $place];
    }
    chmod @$_ for reverse @modes;
}

sub json_text {
    my ($text) = @_;
    utf8::decode($text);
    $text = substr $text, 0, $CHARS_MAX;
    $text =~ s{([^ !#-\[\]-~])}{ord $1 > 0xffff ? '?' : sprintf '\\u%04x', ord $1}ge;
    return qq("$text");
}

sub keep_state {
    mkdir "$WORK/output";
    mkdir $OWN;
    my $report;
    my $is_kept = eval {
        open $out, '>:raw', "$OWN/state" or die "it cannot be written: $!\n";
        put($MAGIC);
        keep_below('');
        close $out or die "it cannot be written: $!\n";
        1;
    };
    if ($is_kept) {
        my $more = @not_kept > $TOLD_MAX ? @not_kept - $TOLD_MAX : 0;
        my @told = map {
            my ($path, $reason) = @$_;
            chomp $reason;
            sprintf '{"kind":"file","name":%s,"reason":%s}', json_text($path), json_text($reason);
        } splice @not_kept, 0, $TOLD_MAX;
        my $told = join ',', @told;
        $report = qq({"globals":0,"files":$count,"not_kept":[$told],"more_not_kept":$more});
    } else {
        chomp(my $problem = $@);
        unlink "$OWN/state";
        print STDERR "The state of the session cannot be kept: $problem\n";
        $report = sprintf '{"problem":%s}', json_text($problem);
    }
    open my $file, '>', "$OWN/kept.json" or return;
    print {$file} $report;
}

eval { load_state(); 1 } or do {
    print STDERR "The state of the session cannot be loaded: $@";
    exit 1;
};
my $ended = system { $ARGV[0] } @ARGV;
exit 127 if $ended == -1;
if (my $signal = $ended & 127) {
    $SIG{$_} = 'DEFAULT' for keys %SIG;
    kill $signal, $$;
}
exit $ended >> 8 if $ended != 0;
keep_state();
