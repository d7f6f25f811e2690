/**
 * The part of a job's end that stays in memory during the grading: the members that the steps need, with texts only up to the
 * length that a judge may get. A longer output is read again for the job that gets it.
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

/** The part to keep. `tests` is the number of tests in the grading. */
export function keptEnd(end: JobEnd, tests: number): JobEnd {
  const outputs = end.outputs
    .filter(({ path }) => ASKED.has(path))
    .map(({ text, ...file }) => (text === undefined ? file : { ...file, text: start(text) }));
  const violations = end.violations.filter((violation) => isLimitOfCompiler(violation) || mayHidePoints(violation));
  const short = { ...end, stderr: keptStderr(end), outputs, violations };
  if (end.stdout === null || Buffer.byteLength(end.stdout) <= inlineRoom(tests)) return short;
  // An output that was cut is never compared.
  if (end.truncated) return { ...short, stdout: '' };
  return { ...short, stdout: null, outputs: [...outputs, { path: STDOUT_FILE, sha256: end.stdout_sha256 ?? '' }] };
}

/** A short text that says the same about points and the compiler as the whole `stderr`. */
function keptStderr(end: JobEnd): string {
  const [, points] = /^points[ \t]+(\S{1,40})/.exec(end.stderr) ?? [];
  const said = points === undefined ? '' : `points ${start(points)}`;
  return compilerOf(end) === 'error' ? `${said}\nprogram:1: error: ` : said;
}

/** A copy of a text's beginning, because a slice of a long text would keep the whole text in memory. */
function start(text: string): string {
  return Buffer.from(text.slice(0, scoreCharsMax)).toString();
}
