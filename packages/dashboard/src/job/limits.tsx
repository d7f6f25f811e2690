/** What was asked for, and what was in force. */
import type { JobDetail } from '@vouchbox/client';
import { LIMIT_DEFAULTS, LIMIT_NAMES } from '@vouchbox/protocol/vocabulary';
import { Table } from '../parts/table.tsx';
import { LIMIT_WORDS } from '../words/limit-words.ts';

export function Limits({ job }: { readonly job: JobDetail }) {
  const { requested_spec, effective_spec, limit_enforcement } = job;
  return (
    <div className="scroll-sideways" tabIndex={0} role="region" aria-label="Limits as a table">
      <Table columns={['Limit', 'Requested', 'Effective', 'Enforced']}>
        {LIMIT_NAMES.map((name) => (
          <tr key={name}>
            <th scope="row">{LIMIT_WORDS[name]}</th>
            <td className="number">{requested_spec.limits?.[name] ?? `${LIMIT_DEFAULTS[name]} by default`}</td>
            <td className="number">{effective_spec?.limits[name] ?? '—'}</td>
            <td>{enforcementWords(limit_enforcement?.[name])}</td>
          </tr>
        ))}
      </Table>
    </div>
  );
}

function enforcementWords(isEnforced: boolean | undefined): string {
  if (isEnforced === undefined) return 'not known';
  return isEnforced ? 'yes' : 'no';
}
