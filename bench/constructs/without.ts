/**
 * The constructs that the code has only for speed, and the changes to the sources that remove them. After such a change,
 * everything still works, but more slowly. `bench/constructs.ts` measures what each construct gains.
 */
import type { Change } from '../../tools/copy-of-tree.ts';
import type { WorkName } from './work.ts';

export interface Construct {
  readonly name: string;
  /** The work that the construct should make cheaper. */
  readonly work: WorkName;
  readonly without: readonly Change[];
}

const SERVER = 'packages/server/src';

export const CONSTRUCTS: readonly Construct[] = [
  {
    name: 'pages of lists are kept',
    work: 'list of 50',
    without: [{ file: `${SERVER}/store/kept/kept-lists.ts`, from: 'if (kept !== undefined) return kept;', to: '' }],
  },
  {
    name: 'short results are kept',
    work: 'short jobs',
    without: [
      {
        file: `${SERVER}/store/kept/short-results.ts`,
        from: 'const max = isAwaited',
        to: 'if (job_id) return null;\n  const max = isAwaited',
      },
    ],
  },
  {
    name: 'long texts are kept',
    work: 'long result',
    without: [
      {
        file: `${SERVER}/store/kept/kept-texts.ts`,
        from: 'constructor(bytesMax = keptBytesMax)',
        to: 'constructor(bytesMax = 0)',
      },
    ],
  },
  {
    name: 'queries are prepared once',
    work: 'short jobs',
    without: [{ file: `${SERVER}/store/prepared.ts`, from: 'if (known !== undefined) return known;', to: '' }],
  },
  {
    name: 'log lines of a turn are written together',
    work: 'list of 50',
    without: [
      { file: `${SERVER}/telemetry/log/line-batch.ts`, from: "if (lines === '') atTurnsEnd(flushSync);", to: '' },
      { file: `${SERVER}/telemetry/log/line-batch.ts`, from: 'lines += line;', to: 'destination.write(line);' },
    ],
  },
  {
    name: 'the line of an answer is spelled by hand',
    work: 'list of 50',
    without: [
      {
        file: `${SERVER}/telemetry/log/answer-log.ts`,
        from: "if (log.isLevelEnabled('info')) destination.write(lineOf(answer));",
        to: "if (destination) log.info(answer, 'request answered');",
      },
    ],
  },
  {
    name: 'canonical values are not sorted again',
    work: 'long jobs',
    without: [
      {
        file: 'packages/evidence/src/canonical-json.ts',
        from: 'if (standsInOrder(value, quickDepthMax)) return JSON.stringify(value);',
        to: '',
      },
    ],
  },
  {
    name: 'facts of the host are remembered',
    work: 'start',
    without: [
      {
        file: `${SERVER}/sandbox/kernel/host/remembered.ts`,
        from: "return JSON.parse(readFileSync(file, 'utf8'));",
        to: 'return null;',
      },
    ],
  },
  {
    name: 'imports are found by their addresses',
    work: 'start',
    without: [
      {
        file: `${SERVER}/ground/near-imports.ts`,
        from: "if (!conditions.includes('import') ||",
        to: "if (specifier !== '' ||",
      },
    ],
  },
];
