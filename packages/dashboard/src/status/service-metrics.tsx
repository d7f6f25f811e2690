/** Metrics about the whole service, for a person who has the metrics token. Like the key, the token is kept in memory. */
import { useQuery } from '@tanstack/react-query';
import { durationOf } from '@vouchbox/protocol/words';
import { type SubmitEvent, useId, useState } from 'react';
import { Facts } from '../parts/facts.tsx';
import { Failure } from '../parts/failure.tsx';
import { Panel } from '../parts/panel.tsx';
import { useCaller } from '../session/session.ts';
import { Outcomes } from './outcomes.tsx';
import { parseMetrics, type Series, sumBy } from './parse-metrics.ts';

/** Milliseconds between two requests. */
const askedMilliseconds = 5000;

export function ServiceMetrics() {
  const { client } = useCaller();
  const [{ token, count }, give] = useState<{ token: string | null; count: number }>({ token: null, count: 0 });
  const { data, error } = useQuery({
    // The query key has a count instead of the token, so that no list of queries shows the token.
    queryKey: ['service-metrics', count],
    queryFn: async ({ signal }) => {
      const metrics = await client.serviceMetrics(token ?? '', { format: 'prometheus', signal });
      return parseMetrics(metrics.text);
    },
    enabled: token !== null,
    refetchInterval: ({ state }) => (state.error === null ? askedMilliseconds : false),
    meta: { isOtherCredential: true },
    gcTime: 0,
  });
  return (
    <Panel title="The whole service" isWide>
      {data === undefined && <TokenForm onToken={(next) => give({ token: next, count: count + 1 })} />}
      {error !== null && <Failure error={error} />}
      {data && <Totals series={data} />}
    </Panel>
  );
}

function TokenForm({ onToken }: { readonly onToken: (token: string) => void }) {
  const id = useId();
  const [typed, setTyped] = useState('');
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    onToken(typed.trim());
  };
  return (
    <form className="field" onSubmit={submit}>
      <label htmlFor={id}>Metrics token</label>
      <div className="row">
        <input
          id={id}
          className="input status-token"
          type="password"
          autoComplete="off"
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
          aria-describedby={`${id}-hint`}
        />
        <button className="button" type="submit" disabled={typed.trim() === ''}>
          Show
        </button>
      </div>
      <p className="field-hint" id={`${id}-hint`}>
        To see the numbers of all tenants, give the token that the operator set. A tenant's key is not enough.
      </p>
    </form>
  );
}

function Totals({ series }: { readonly series: readonly Series[] }) {
  const sum = (name: string) =>
    series.filter((one) => one.name === name).reduce((total, { value }) => total + value, 0);
  const mean = (name: string) => {
    const count = sum(`${name}_count`);
    return count === 0 ? '—' : durationOf((sum(`${name}_sum`) / count) * 1000);
  };
  const ended = series.filter(({ name }) => name === 'svc_jobs_ended_total');
  return (
    <div className="panels-inner">
      <Facts
        facts={[
          ['Jobs admitted', sum('svc_jobs_admitted_total')],
          ['Mean duration', mean('svc_job_duration_seconds')],
          ['Mean wait in the queue', mean('svc_job_queue_seconds')],
          ['Mean time to make a cell', mean('svc_sandbox_prepare_seconds')],
          ['Cells taken', sum('svc_cells_taken_total')],
          ['Parked cells lost', sum('svc_parked_cells_lost_total')],
        ]}
      />
      <Outcomes counts={sumBy(ended, 'status')} />
    </div>
  );
}
