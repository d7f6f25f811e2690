/** Everyday commands, each in a few lines of bash whose output is the same everywhere. */
import { SMALL_LIMITS, type TriedProgram } from './program.ts';

/** The code of each command, keyed by name. In a name, the words before the colon are the executables that the code needs. */
const SCRIPTS: Readonly<Record<string, string>> = {
  'ls: long, all, recursive':
    'mkdir -p d/e; touch d/.hidden d/e/f; chmod 640 d/e/f; ls -A d; ls -R d; ls -l d/e | cut -c1-10 | tail -1',
  'stat: size, mode, links, type': 'printf 12345 > f; chmod 604 f; ln f g; stat -c "%s %a %h %F" f',
  'cp: tree with modes and times':
    'mkdir -p a/b; echo x > a/b/f; touch -d @1000000000 a/b/f; ln -s b/f a/l; cp -a a c; stat -c %Y c/b/f; readlink c/l',
  'mv: rename over a file': 'echo a > a; echo b > b; mv a b; cat b; ls',
  'rm: tree': 'mkdir -p a/b/c; touch a/b/c/f; rm -r a; ls -A',
  'ln: hard and symbolic':
    'echo x > f; ln f hard; ln -s f soft; ln -sr f relative; cat hard soft relative; test f -ef hard && echo same',
  'chmod: modes': 'touch f; for mode in 600 755 u+x,g-w o=; do chmod $mode f; stat -c %a f; done',
  'touch: times': 'touch -d "2001-02-03 04:05:06 UTC" f; stat -c %Y f; touch -r f g; test g -nt f || echo same',
  'mkdir: parents and modes': 'mkdir -m 700 -p a/b; mkdir -p a/b; stat -c %a a/b; rmdir -p a/b; ls -A',
  'mktemp: files and directories': 'f=$(mktemp); d=$(mktemp -d); stat -c "%a %F" "$f" "$d"; rm -r "$f" "$d"',
  'dd: blocks':
    'dd if=/dev/zero of=f bs=1K count=10 seek=2 status=none; stat -c %s f; dd if=f bs=1 skip=1 count=3 status=none | od -c',
  'truncate: sizes': 'truncate -s 1M f; stat -c %s f; truncate -s -1K f; stat -c %s f',
  'head: lines and bytes': 'seq 100 | head -3; seq 100 | head -c 5; seq 5 | head -n -3',
  'tail: lines, bytes and following':
    'seq 100 > f; tail -2 f; tail -c 3 f; tail -n +99 f; (sleep 0.2; echo late >> f) & timeout 5 tail -n 0 -f --pid=$! f; wait',
  'cat: numbering and ends': 'printf "a\\n\\nb\\tc\\n" | cat -A; printf "a\\n\\n\\nb\\n" | cat -ns',
  'sort: numbers, keys, unique':
    'printf "10 b\\n9 a\\n9 a\\n" | sort -n | uniq -c; printf "b 2\\na 10\\n" | sort -k2,2n; seq 50000 | sort -R | sort -n | sha256sum',
  'cut,paste,join: columns':
    'printf "1:a\\n2:b\\n" > l; printf "1:x\\n2:y\\n" > r; join -t: l r; cut -d: -f2 l; paste -d, l r',
  'tr: classes': 'echo "Hello World" | tr a-z A-Z | tr -d " " | tr -s L',
  'wc: lines, words, bytes': 'printf "one two\\nthree é\\n" | wc -lwcm',
  'split,csplit: pieces': 'seq 10 | split -l 4 - p; cat paa; ls p*; seq 5 > f; csplit -s f 3; cat xx01',
  'comm,diff: differences':
    'printf "a\\nb\\n" > l; printf "b\\nc\\n" > r; comm l r; diff l r; diff -u l r | tail -n +3; true',
  'od,xxd: dumps': 'printf "\\0\\1abc" | od -An -tx1; printf abc | xxd',
  'md5sum,sha1sum,sha256sum,b2sum: digests':
    'printf abc > f; for sum in md5sum sha1sum sha256sum b2sum; do $sum f; done; sha256sum f > s; sha256sum -c s',
  'base64: both ways': 'head -c 100 /dev/zero | base64; echo aGk= | base64 -d',
  'expr,seq,factor,numfmt: numbers': 'expr 6 \\* 7; seq -w 8 2 12; factor 360; numfmt --to=iec 1048576',
  'date: formats and zones': 'date -u -d @1000000000 +%FT%TZ; TZ=Asia/Tokyo date -d @0 +%T%z',
  'env: variables': 'env -i A=1 B=2 env | sort; env -u HOME bash -c "test -v HOME || echo none"',
  'id: who': 'test "$(id -u)" -ne 0 && echo "not root"; id -G | wc -w',
  'nproc: processors': 'test "$(nproc)" -ge 1 && echo some',
  'uname: system': 'uname -s; uname -m',
  'timeout: limits':
    'timeout 0.2 sleep 5; echo $?; (timeout -s KILL 0.2 sleep 5; echo $?) 2>/dev/null; timeout 5 true; echo $?',
  'tee: copies': 'echo x | tee a b >/dev/null; cat a b; echo y | tee -a a; cat a',
  'xargs: batches and parallel':
    'seq 10 | xargs -n 4 echo; seq 4 | xargs -P 4 -I{} sh -c "echo {}" | sort; printf "a b\\0c" | xargs -0 -n 1 echo',
  'find: by name, size, time, action':
    'mkdir -p d/e; touch d/a.txt d/e/b.txt; truncate -s 2M d/big; find d -name "*.txt" | sort; find d -size +1M; find d -type d -empty; find d -name "*.txt" -exec basename {} \\; | sort; find d -newer d/a.txt -name nothing; find d -delete; ls -A',
  'grep: patterns':
    'printf "abc\\nABC\\nxyz 12\\n" > f; grep -n b f; grep -ic abc f; grep -oE "[0-9]+" f; grep -P "x(?=y)" f; grep -v b f; grep -q none f || echo no; mkdir d; cp f d; grep -rl xyz d',
  'sed: editing in place':
    'printf "one\\ntwo\\n" > f; sed -i "s/o/0/g; 2i between" f; cat f; sed -n "/t/,\\$p" f; sed -E "s/(.)(.)/\\2\\1/" f',
  'awk: fields and arrays':
    'printf "a 1\\nb 2\\na 3\\n" | awk "{ sum[\\$1] += \\$2 } END { for (k in sum) print k, sum[k] }" | sort; awk "BEGIN { printf \\"%.3f\\\\n\\", 22/7; print length(\\"héllo\\") }"; awk "BEGIN { \\"echo piped\\" | getline x; print x; system(\\"echo ran\\") }"',
  'tar: archives':
    'mkdir -p d/e; echo x > d/e/f; ln -s e/f d/l; chmod 640 d/e/f; tar -cf a.tar d; tar -tf a.tar | sort; mkdir o; tar -xf a.tar -C o; readlink o/d/l; stat -c %a o/d/e/f; tar -czf a.tgz d; tar -xzOf a.tgz d/e/f; tar -cJf a.txz d; tar -tJf a.txz | wc -l',
  'gzip: both ways':
    'seq 1000 > f; gzip -k f; gzip -l f.gz | tail -1 | awk "{print \\$2}"; zcat f.gz | sha256sum; gunzip -c f.gz | cmp - f && echo same',
  'bzip2: both ways': 'seq 1000 > f; bzip2 -k f; bzcat f.bz2 | cmp - f && echo same',
  'xz: both ways, several threads':
    'seq 100000 > f; xz -k -T2 f; xzcat f.xz | cmp - f && echo same; xz -t f.xz && echo good',
  'zip,unzip: both ways':
    'mkdir d; echo x > d/f; zip -qr a.zip d; unzip -l a.zip | grep -c d/f; rm -r d; unzip -q a.zip; cat d/f',
  'git: commits, branches, merges':
    'export GIT_AUTHOR_DATE="1000000000 +0000" GIT_COMMITTER_DATE="1000000000 +0000"; git init -q -b main r; cd r; git config user.name n; git config user.email e@example.com; echo a > f; git add f; git commit -qm one; git checkout -qb side; echo b >> f; git commit -qam two; git checkout -q main; git merge -q side; git log --format="%H %s"; git status --short; git fsck --strict 2>&1; cd ..; git clone -q r s; git -C s log --oneline | wc -l; git -C r gc -q; git -C r count-objects -v | grep in-pack',
  'sqlite3: tables, transactions, WAL':
    'sqlite3 d.db "pragma journal_mode=wal; create table t(a integer primary key, b text); insert into t(b) values (\'x\'), (\'y\'); select * from t; begin; delete from t; rollback; select count(*) from t; pragma integrity_check;"; for n in 1 2 3 4; do sqlite3 -cmd ".timeout 5000" d.db "insert into t(b) values ($n)" & done; wait; sqlite3 d.db "select count(*) from t"',
  'make: rules, dependencies, parallel':
    'printf "all: a b\\n\\tcat a b\\na b: c\\n\\techo \\$@ > \\$@\\nc:\\n\\ttouch c\\n" > Makefile; make -s; make; touch -d 2001-01-01 a; make -s -j2 all',
  'gcc: a program and its result':
    'printf "#include <stdio.h>\\n#include <math.h>\\nint main(int c, char **v) { printf(\\"%%d %%s %%.3f\\\\n\\", c, v[1], sqrt(2)); return 3; }\\n" > m.c; gcc -O2 -Wall -o m m.c -lm && ./m hi; echo $?',
  'gcc: a shared library that is loaded':
    'echo "int f(void) { return 42; }" > l.c; gcc -shared -fPIC -o libfour.so l.c; printf "#include <stdio.h>\\nint f(void);\\nint main(void) { printf(\\"%%d\\", f()); }\\n" > m.c; gcc -o m m.c -L. -lfour && LD_LIBRARY_PATH=. ./m',
  'g++: threads and exceptions':
    'printf "#include <thread>\\n#include <iostream>\\n#include <stdexcept>\\nint main() { int x = 0; std::thread t([&] { x = 42; }); t.join(); try { throw std::runtime_error(\\"e\\"); } catch (std::exception &e) { std::cout << x << e.what() << std::endl; } }\\n" > m.cpp; g++ -pthread -o m m.cpp && ./m',
  'bash: a script that is executed': 'printf "#!/bin/bash\\necho ran \\$# \\$0\\n" > s.sh; chmod +x s.sh; ./s.sh a b',
  'bash: jobs, traps, signals':
    'trap "echo usr1" USR1; kill -USR1 $$; sleep 5 & kill $!; wait $!; echo $?; (trap "" TERM; kill -TERM $BASHPID; echo lives); coproc cat; eval "echo x >&$((COPROC[1])); read -r line <&$((COPROC[0]))"; echo $line',
  'bash: substitutions and redirections':
    'diff <(seq 3) <(seq 2 4); cat <<< here; exec 5> f; echo five >&5; exec 5>&-; cat f; set -o pipefail; false | true; echo $?; ulimit -c',
  'bash: a fifo between two processes': 'mkfifo p; (echo through > p) & cat p; wait; stat -c %F p',
  'script: a terminal':
    'script -qec "test -t 0 && test -t 1 && stty size >/dev/null && echo terminal" /dev/null </dev/null | tr -d "\\r"',
  'curl,python3: an HTTP server on loopback':
    'mkdir s; echo served > s/f; (cd s; exec python3 -u -m http.server 8765 --bind 127.0.0.1 > ../log 2>&1) & server=$!; for n in $(seq 100); do curl -fs http://127.0.0.1:8765/f && break; sleep 0.1; done; curl -so /dev/null -w "%{http_code}\\n" http://127.0.0.1:8765/none; kill $server; wait $server 2>/dev/null; true',
  'bash: a socket by /dev/tcp':
    'python3 -c "import socket; s = socket.create_server((\'127.0.0.1\', 8766)); c, _ = s.accept(); c.sendall(c.recv(9)); c.close()" & for n in $(seq 100); do exec 3<>/dev/tcp/127.0.0.1/8766 && break; sleep 0.1; done 2>/dev/null; printf "to myself" >&3; cat <&3; echo; wait',
  'python3: a virtual environment':
    'python3 -m venv --without-pip --copies v && v/bin/python3 -c "import sys; print(sys.prefix != sys.base_prefix)"',
  'perl: processes and regular expressions':
    'perl -e \'my $p = open(my $h, "-|") // die; if (!$p) { print "child"; exit 3 } print <$h>; close $h; print $? >> 8, "\\n"; print join(",", "a1b22" =~ /\\d+/g), "\\n"\'',
  'jq: queries': 'echo \'{"a":[1,2,{"b":null}]}\' | jq -c ".a[2], (.a | length), [.a[] | numbers | . * 2]"',
  'bc: precision': 'echo "scale=20; 4*a(1)" | bc -l; echo "2^100" | bc',
  'patch: hunks':
    'seq 5 > f; cp f g; sed -i 3d g; diff -u f g > p; patch -s f p; cmp f g && echo same; patch -sR f p; wc -l < f',
  'file: kinds':
    'echo text > t; printf "\\x89PNG\\r\\n\\x1a\\n" > p; file -b --mime-type t p; file -b /bin/true | cut -d, -f1 | cut -c1-10',
  'ps: processes of its own': 'sleep 5 & ps -o comm= -p $!; kill $!',
  'flock: one at a time':
    'exec 9> l; flock 9; flock -n l -c "echo entered" || echo locked; flock -u 9; flock -n l -c "echo entered"',
  'install,shred: files': 'echo x > f; install -D -m 750 f d/e/f; stat -c %a d/e/f; shred -u f; ls',
  'df,du,free: space':
    'truncate -s 0 f; head -c 100000 /dev/zero > f; du -b f | cut -f1; df --output=pcent . | tail -1 | grep -c %; free -m | grep -c Mem',
};

export const COMMANDS: readonly TriedProgram[] = Object.entries(SCRIPTS).map(([name, code]) => ({
  name: `command/${name}`,
  language: 'bash',
  code: `${code}\n`,
  needs: (name.split(':')[0] ?? '').split(','),
  compared: 'output',
  limits: SMALL_LIMITS,
}));
