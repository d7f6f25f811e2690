/**
 * The part of a job's end that stays in memory while its grading goes on: the members that the steps need, with texts only up to
 * the length that a judge may get. A longer output is read again for the job that gets it.
 */
import { isLimitOfCompiler } from '@vouchbox/protocol/grading';
import {
  compilerOf,
  inlineRoom,
  type JobEnd,
  mayHidePoints,
  SCORE_FILES,
  STDOUT_FILE,
} from '@vouchbox/protocol/grading-steps';

/** The longest text that is read as points. */
const scoreCharsMax = 64;

const ASKED = new Set<string>([STDOUT_FILE, ...SCORE_FILES.map(([path]) => path)]);

/** `tests` is the number of tests in the grading. */
export function keptEnd(end: JobEnd, tests: number): JobEnd {
  const outputs = end.outputs
    .filter(({ path }) => ASKED.has(path))
    .map(({ text, ...file }) => (text === undefined ? file : { ...file, text: start(text) }));
  const violations = end.violations.filter((violation) => isLimitOfCompiler(violation) || mayHidePoints(violation));
  const short = { ...end, stderr: keptStderr(end), outputs, violations };
  if (end.stdout === null || Buffer.byteLength(end.stdout) <= inlineRoom(tests)) return short;
  // Nothing is compared with an output that was cut.
  if (end.truncated) return { ...short, stdout: '' };
  return { ...short, stdout: null, outputs: [...outputs, { path: STDOUT_FILE, sha256: end.stdout_sha256 ?? '' }] };
}

/** A short text that says the same as the whole `stderr` about points and the compiler. */
function keptStderr(end: JobEnd): string {
  const [, points] = /^points[ \t]+(\S{1,40})/.exec(end.stderr) ?? [];
  const said = points === undefined ? '' : `points ${start(points)}`;
  return compilerOf(end) === 'error' ? `${said}\nprogram:1: error: ` : said;
}

/** The beginning of a text, as a copy: a part of a long text would keep all of it in memory. */
function start(text: string): string {
  return Buffer.from(text.slice(0, scoreCharsMax)).toString();
}
