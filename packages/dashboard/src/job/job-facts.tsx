/** Panels on a job's page: what the job is, what isolated and limited its program, and what the program used. */
import type { JobDetail, ProgramUsage } from '@vouchbox/client';
import { LIMIT_DEFAULTS, LIMIT_NAMES, printable } from '@vouchbox/protocol/vocabulary';
import { amountOf, durationOf, LIMIT_WORDS, observedOf, postureWords, sizeOf } from '@vouchbox/protocol/words';
import { Link } from 'wouter';
import { Labels } from '../jobs/labels.tsx';
import { Facts } from '../parts/facts.tsx';
import { Moment } from '../parts/moment.tsx';
import { Table } from '../parts/table.tsx';

export function JobSummary({ job }: { readonly job: JobDetail }) {
  const { interaction, labels } = job.requested_spec;
  return (
    <Facts
      facts={[
        ['Language', job.language],
        ['Runtime', job.runtime === null ? 'the default' : printable(job.runtime)],
        ['Tenant', printable(job.tenant)],
        ['Created', <Moment key="at" at={job.created_at} />],
        ['Started', <Moment key="at" at={job.started_at} />],
        ['Finished', <Moment key="at" at={job.finished_at} />],
        ['Duration', durationOf(job.duration_ms)],
        ['Exit code', job.exit_code ?? '—'],
        ['Signal', job.signal === null ? '—' : printable(job.signal)],
        ...(labels === undefined ? [] : [['Labels', <Labels key="labels" labels={labels} />] as const]),
        ...(interaction === undefined ? [] : [['Talks to', peerOf(interaction)] as const]),
      ]}
    />
  );
}

/** A link to the other job of a pair. */
function peerOf({ peer, role }: NonNullable<JobDetail['requested_spec']['interaction']>) {
  return <Link href={`/jobs/${peer}`}>{`${role === 'program' ? 'the interactor' : 'the program'}, ${peer}`}</Link>;
}

export function Posture({ job }: { readonly job: JobDetail }) {
  if (job.backend === null)
    return <p className="soft">Nothing was observed: no program ran, or it has not started yet.</p>;
  return (
    <ul className="posture">
      {postureWords(observedOf(job)).map(
        ({ title, sentence, tone, member }) =>
          member !== null && (
            <li key={title} className={`posture-line is-${tone}`}>
              <strong>{title}</strong> {sentence} <code className="soft">{member}</code>
            </li>
          ),
      )}
    </ul>
  );
}

export function Resources({ job: { receipt } }: { readonly job: JobDetail }) {
  const { resource_usage: used, program_usage: alone, output } = receipt ?? {};
  if (used === undefined) return <p className="soft">This is known once the program has ended.</p>;
  return (
    <Facts
      facts={[
        ['Time', durationOf(used.wall_ms)],
        ['Processor time', durationOf(used.cpu_ms)],
        ['Most memory at once', sizeOf(used.memory_peak_bytes)],
        ['The program alone', alone && aloneWords(alone)],
        [
          'Recorded on stdout',
          output && `${sizeOf(output.stdout_bytes)}, ${amountOf(output.stdout_records, 'record')}`,
        ],
        [
          'Recorded on stderr',
          output && `${sizeOf(output.stderr_bytes)}, ${amountOf(output.stderr_records, 'record')}`,
        ],
      ]}
    />
  );
}

/** What the program used, in a few words; empty until that is known. */
export function usedWords({ receipt }: JobDetail): string {
  const used = receipt?.resource_usage;
  if (used === undefined) return '';
  return `${durationOf(used.wall_ms)}, ${durationOf(used.cpu_ms)} of a processor, ${sizeOf(used.memory_peak_bytes)}`;
}

function aloneWords({ wall_ms, cpu_ms, memory_peak_bytes, account }: ProgramUsage): string {
  const numbers = [durationOf(wall_ms), `${durationOf(cpu_ms)} of a processor`, sizeOf(memory_peak_bytes)];
  return `${numbers.join(', ')}, counted by ${account === 'guest' ? 'its gVisor guest' : 'the host'}`;
}

export function Limits({ job }: { readonly job: JobDetail }) {
  const { requested_spec, effective_spec, limit_enforcement } = job;
  return (
    <Table columns={['Limit', 'Requested', 'Effective', 'Enforced']} label="Limits as a table">
      {LIMIT_NAMES.map((name) => (
        <tr key={name}>
          <th scope="row">{LIMIT_WORDS[name]}</th>
          <td className="number">{requested_spec.limits?.[name] ?? `${LIMIT_DEFAULTS[name]} by default`}</td>
          <td className="number">{effective_spec?.limits[name] ?? '—'}</td>
          <td>{enforcementWords(limit_enforcement?.[name])}</td>
        </tr>
      ))}
    </Table>
  );
}

function enforcementWords(isEnforced: boolean | undefined): string {
  if (isEnforced === undefined) return 'not known';
  return isEnforced ? 'yes' : 'no';
}
