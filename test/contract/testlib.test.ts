/** The header `testlib.h` in the pack `c`. Each case runs a checker, validator or interactor and expects an exit code. */
import { describe, expect, test } from 'vitest';
import { shippedPacks } from '../../packages/server/src/sandbox/packs/shipped-packs.fixture.ts';
import { hasEveryPack } from '../rig/form.ts';
import { useRig } from '../rig/rig.ts';

const { packs } = await shippedPacks(['c']);

interface Case {
  readonly as: 'check' | 'validate' | 'interact';
  readonly input: string;
  readonly output?: string;
  readonly answer?: string;
  readonly code: number;
  readonly says: RegExp;
}

const CASES: readonly Case[] = [
  { as: 'check', input: '2', output: '1.5 2.0000001', answer: '1.5 2', code: 0, says: /^ok 2 numbers$/ },
  { as: 'check', input: '2', output: ' 1.5\r\n2 \n\n', answer: '1.5 2', code: 0, says: /^ok/ },
  {
    as: 'check',
    input: '2',
    output: '1.5 3',
    answer: '1.5 2',
    code: 1,
    says: /^wrong answer test case 2: 2nd differs/,
  },
  { as: 'check', input: '2', output: '1.5', answer: '1.5 2', code: 8, says: /^unexpected eof/ },
  { as: 'check', input: '2', output: '1.5 nan', answer: '1.5 2', code: 2, says: /^wrong output format.*"nan" found/ },
  { as: 'check', input: '2', output: '1.5 0x2', answer: '1.5 2', code: 2, says: /^wrong output format/ },
  { as: 'check', input: '2', output: '1.5 2 2', answer: '1.5 2', code: 2, says: /Extra information/ },
  { as: 'check', input: '2', output: '1.5 half', answer: '1.5 half', code: 7, says: /^points 0\.5 the first$/ },
  {
    as: 'check',
    input: '11',
    output: '',
    answer: '',
    code: 3,
    says: /^FAIL n equals 11, violates the range \[1, 10\]/,
  },
  { as: 'check', input: '1', output: '1', answer: 'x', code: 3, says: /^FAIL/ },
  { as: 'validate', input: '2\n-1 99999999999\n', code: 0, says: /^$/ },
  { as: 'validate', input: '2\n-1 99999999999', code: 3, says: /^FAIL Expected EOLN/ },
  { as: 'validate', input: '2\n-1  99999999999\n', code: 3, says: /^FAIL/ },
  { as: 'validate', input: '2\n-1 9\r\n', code: 3, says: /^FAIL/ },
  { as: 'validate', input: '2\n-0 9\n', code: 3, says: /^FAIL Expected int64/ },
  { as: 'validate', input: '2\n01 9\n', code: 3, says: /^FAIL/ },
  { as: 'validate', input: '2\n1 9223372036854775808\n', code: 3, says: /^FAIL/ },
  { as: 'validate', input: '2\n1 9\n\n', code: 3, says: /^FAIL Expected EOF/ },
  { as: 'validate', input: '3\n1 2 3\n', code: 3, says: /wasEof|readEof/ },
  { as: 'interact', input: '7', output: '7\n', answer: '', code: 0, says: /^ok 7 of 7$/ },
  { as: 'interact', input: '7', output: '8\n', answer: '', code: 1, says: /^wrong answer expected '7', but found '8'/ },
  { as: 'interact', input: '7', output: '', answer: '', code: 8, says: /^unexpected eof/ },
];

/** Runs each case in its own process, with its files, and prints how that process ended. */
const PROGRAM = `#include "testlib.h"
#include <bits/stdc++.h>
#include <sys/wait.h>
#include <unistd.h>
using namespace std;

void check() {
    int n = inf.readInt(1, 10, "n");
    for (int i = 1; i <= n; i++) {
        setTestCase(i);
        ans.skipBlanks();
        if (ans.curChar() == 'h' && ouf.readWord("[a-z]{4}") == ans.readToken()) quitp(0.5, "the %s", "first");
        double wanted = ans.readDouble(), found = ouf.readDouble();
        if (!doubleCompare(wanted, found, 1e-6)) quitf(_wa, "%d%s differs", i, englishEnding(i).c_str());
    }
    unsetTestCase();
    quitf(_ok, "%d numbers", n);
}

void validate() {
    registerValidation();
    int n = inf.readInt(1, 3, "n");
    inf.readEoln();
    inf.readLongs(n, LLONG_MIN, LLONG_MAX, "a");
    inf.readEoln();
    if (n < 3) inf.readEof();
    exit(0);
}

void interact() {
    int wanted = inf.readInt();
    cout << "guess" << endl;
    int found = ouf.readInt();
    tout << found << endl;
    if (found != wanted) expectedButFound(_wa, wanted, found);
    quitf(_ok, "%d of %d", found, wanted);
}

int main() {
    ifstream cases("input/cases");
    string as, text;
    for (int at = 0; getline(cases, as, '\\0'); at++) {
        string said = "/tmp/" + to_string(at), input = said + ".in", output = said + ".out", answer = said + ".ans";
        for (const string &file : {input, output, answer}) getline(cases, text, '\\0'), ofstream(file) << text;
        cout.flush();
        if (fork() == 0) {
            freopen(said.c_str(), "w", stderr);
            freopen("/dev/null", "w", stdout);
            freopen((as == "interact" ? output : input).c_str(), "r", stdin);
            string kept = said + ".tout";
            char *files[] = {nullptr, input.data(), as == "interact" ? kept.data() : output.data(), answer.data(), nullptr};
            if (as == "check") registerTestlibCmd(4, files), check();
            if (as == "validate") validate();
            registerInteraction(4, files);
            interact();
        }
        int status;
        wait(&status);
        string line;
        getline(ifstream(said), line);
        cout << (WIFEXITED(status) ? WEXITSTATUS(status) : -1) << " " << line << endl;
    }
}`;

describe.each(hasEveryPack ? ['namespace', 'gvisor'] : ['namespace'])('in the class of %s', (provider) => {
  const rig = useRig({ 'runtime-packs-dir': packs, provider });
  test('checkers, validators and interactors exit with the same codes as with the original testlib.h', async () => {
    const limits = { cpu_seconds: 60, wall_seconds: 120, mem_mb: 1024 };
    const files = {
      cases: CASES.map(({ as, input, output = '', answer = '' }) => `${as}\0${input}\0${output}\0${answer}\0`).join(''),
    };
    const { stdout, stderr } = await rig().alpha.client.run(PROGRAM, { language: 'cpp', files, limits });
    expect(stderr).not.toMatch(/error:|testlib.h:/);
    const found = stdout.trimEnd().split('\n');
    expect(found).toEqual(CASES.map(({ code }) => expect.stringMatching(new RegExp(`^${code}( |$)`))));
    for (const [at, { says }] of CASES.entries()) expect(found[at]?.replace(/^\d+ /, '')).toMatch(says);
  });
});
