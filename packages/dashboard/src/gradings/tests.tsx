/** A program's tests: all of them from the verdict, or those that have ended so far. */
import { useQuery } from '@tanstack/react-query';
import type { GradingDetail } from '@vouchbox/client';
import { verdictBytes } from '@vouchbox/evidence';
import { printable } from '@vouchbox/protocol/vocabulary';
import { countOf, durationOf, sizeOf } from '@vouchbox/protocol/words';
import { Link } from 'wouter';
import { Failure } from '../parts/failure.tsx';
import { StatusBadge } from '../parts/status-badge.tsx';
import { Table } from '../parts/table.tsx';
import { useCaller } from '../session/session.ts';
import { type ShownTest, type ShownVerdict, shownVerdict } from './shown-verdict.ts';
import type { EndedTest } from './use-ended-tests.ts';

type ProgramVerdict = NonNullable<GradingDetail['graded'][number]['verdict']>;

/** The build, the groups and the tests of a verdict. */
export function Judged({ verdict: { job_id, verdict_sha256 } }: { readonly verdict: ProgramVerdict }) {
  const { client, isLive } = useCaller();
  const { data, error, isLoading } = useQuery({
    queryKey: ['verdict', job_id],
    queryFn: async ({ signal }) => {
      const bytes = verdictBytes(await client.result(job_id, { signal }), verdict_sha256);
      if (bytes === null) throw new Error('The verdict is not the one that the grading names.');
      return shownVerdict(JSON.parse(new TextDecoder().decode(bytes)) as Parameters<typeof shownVerdict>[0]);
    },
    enabled: isLive,
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (error !== null) return <Failure error={error} />;
  if (isLoading || data === undefined) return <p role="status">Reading the verdict…</p>;
  return (
    <>
      {data.build !== null && (
        <p>
          {data.build.end} <Link href={`/jobs/${data.build.job_id}`}>The job that compiled it</Link>
        </p>
      )}
      {data.groups.length > 0 && <Groups groups={data.groups} />}
      <Tests tests={data.tests} hasGroups={data.groups.length > 0} />
    </>
  );
}

function Groups({ groups }: Pick<ShownVerdict, 'groups'>) {
  return (
    <Table columns={['Group', 'Passed', 'Points', 'Counts', 'Needs']} label="Groups as a table">
      {groups.map(({ name, passed, points, points_max, score, after, stop }) => (
        <tr key={name}>
          <th scope="row">{printable(name, 120)}</th>
          <td>{passed ? 'yes' : 'no'}</td>
          <td className="number">{pointsOf(points, points_max)}</td>
          <td>
            {score === 'sum' ? 'all tests' : 'the worst test'}
            {stop && ', up to the first that wins nothing'}
          </td>
          <td>{after.map((other) => printable(other, 120)).join(', ') || '—'}</td>
        </tr>
      ))}
    </Table>
  );
}

function Tests({ tests, hasGroups }: Pick<ShownVerdict, 'tests'> & { readonly hasGroups: boolean }) {
  const isTimed = tests.some(({ took }) => took !== null);
  const columns = [
    'Test',
    ...(hasGroups ? ['Group'] : []),
    'Verdict',
    'Points',
    ...(isTimed ? ['Processor time', 'Time', 'Most memory'] : []),
    'Jobs',
  ];
  return (
    <Table columns={columns} label="Tests as a table">
      {tests.map((test) => (
        <tr key={test.name}>
          <th scope="row">{printable(test.name, 120)}</th>
          {hasGroups && <td>{printable(test.group, 120)}</td>}
          <td>
            <StatusBadge status={test.verdict} />
            {test.why !== null && <div className="small soft">{printable(test.why)}</div>}
          </td>
          <td className="number">{pointsOf(test.points, test.points_max)}</td>
          {isTimed && <Took took={test.took} />}
          <td>
            <Jobs jobs={test.jobs} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

function Took({ took }: Pick<ShownTest, 'took'>) {
  return (
    <>
      <td className="number">{durationOf(took?.cpu_ms)}</td>
      <td className="number">{durationOf(took?.wall_ms)}</td>
      <td className="number">{sizeOf(took?.memory_peak_bytes)}</td>
    </>
  );
}

/** Links to jobs, each named by what the job did. The id is long, and the job's page shows it. */
function Jobs({ jobs }: Pick<ShownTest, 'jobs'>) {
  if (jobs.length === 0) return '—';
  return (
    <span className="row">
      {jobs.map(([did, job_id]) => (
        <Link key={job_id} href={`/jobs/${job_id}`} title={printable(job_id, 60)}>
          {did}
        </Link>
      ))}
    </span>
  );
}

/** Ended test runs, shown until the program is judged. */
export function RunTests({ tests }: { readonly tests: readonly EndedTest[] }) {
  if (tests.length === 0) return <p className="soft">No test has run yet.</p>;
  return (
    <Table columns={['Test', 'Ended', 'Job']} label="Tests as a table">
      {tests.map(({ name, job_id, terminal_reason }) => (
        <tr key={name}>
          <th scope="row">{printable(name, 120)}</th>
          <td>{printable(terminal_reason ?? '—', 60)}</td>
          <td>
            <Link href={`/jobs/${job_id}`} className="mono">
              {printable(job_id, 60)}
            </Link>
          </td>
        </tr>
      ))}
    </Table>
  );
}

function pointsOf(points: number, most: number): string {
  return `${countOf(points)} of ${countOf(most)}`;
}
