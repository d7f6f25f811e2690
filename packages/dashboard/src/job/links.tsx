/** Makes, lists and ends links that need no account. An address is shown only once, and this page does not keep it. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { LinkList, LinkOptions } from '@vouchbox/client';
import { printable } from '@vouchbox/protocol/vocabulary';
import { type SubmitEvent, useId, useState } from 'react';
import { CopyButton } from '../parts/copy-button.tsx';
import { Failure } from '../parts/failure.tsx';
import { Moment } from '../parts/moment.tsx';
import { Table } from '../parts/table.tsx';
import { useToast } from '../parts/toasts.tsx';
import { useCaller } from '../session/session.ts';
import { useCapabilities } from '../session/use-capabilities.ts';
import { failureWords } from '../words/failure-words.ts';

type Part = NonNullable<LinkOptions['shows']>[number];

const PARTS: readonly (readonly [Part, string])[] = [
  ['code', 'The program'],
  ['input', 'Its arguments, variables, standard input and files'],
  ['files', 'The files that it left'],
];

const TIMES: readonly (readonly [seconds: number, words: string])[] = [
  [3600, 'an hour'],
  [86_400, 'a day'],
  [604_800, 'seven days'],
];

/** A job's links. Anybody who may read the job sees them, but only callers who may make a link see the form. */
export function Links({ job_id }: { readonly job_id: string }) {
  const { client, isLive } = useCaller();
  const capabilities = useQuery(useCapabilities());
  const links = useQuery({
    queryKey: ['links', job_id],
    queryFn: ({ signal }) => client.links(job_id, { signal }),
    enabled: isLive,
  });
  if (links.isError) return <Failure error={links.error} />;
  // A key that may not read capabilities may still see and make links.
  if (links.data === undefined || capabilities.isPending) return <p role="status">Reading…</p>;
  const { items, may_make } = links.data;
  const hindrance = hindranceOf(capabilities.data?.features.includes('links'), may_make);
  return (
    <>
      {hindrance === null ? <NewLink job_id={job_id} /> : <p>{hindrance}</p>}
      {items.length > 0 && <LinkTable job_id={job_id} items={items} />}
    </>
  );
}

/** Why the service would refuse to make a link; null if no reason is known. */
function hindranceOf(isAllowed = true, mayMake = true): string | null {
  if (!isAllowed) return 'The operator of this service allows no links.';
  return mayMake ? null : 'Only whoever submitted this job may make a link to it, where the operator allows links.';
}

function NewLink({ job_id }: { readonly job_id: string }) {
  const { client, isLive } = useCaller();
  const queries = useQueryClient();
  const [shows, setShows] = useState<readonly Part[]>([]);
  const [seconds, setSeconds] = useState(86_400);
  const making = useMutation({
    mutationFn: () => client.createLink(job_id, { shows: [...shows], expires_in: seconds }),
    gcTime: 0,
    onSuccess: () => queries.invalidateQueries({ queryKey: ['links', job_id] }),
  });
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    making.mutate();
  };
  return (
    <form className="stack" onSubmit={submit}>
      <p>
        Whoever has the link reads how the job ended, its output, its receipt and what was signed, without an account,
        and may pass it on. Tick what else it shows.
      </p>
      <PartFields shows={shows} onChange={setShows} />
      <div className="row">
        <TimeField seconds={seconds} onChange={setSeconds} />
        <button className="button" type="submit" disabled={making.isPending || !isLive}>
          Make a link
        </button>
      </div>
      {making.isError && <Failure error={making.error} />}
      {making.data && <Address address={making.data.address} />}
    </form>
  );
}

interface PartFieldsProps {
  readonly shows: readonly Part[];
  readonly onChange: (shows: readonly Part[]) => void;
}

function PartFields({ shows, onChange }: PartFieldsProps) {
  return PARTS.map(([part, words]) => (
    <label key={part} className="row small">
      <input
        type="checkbox"
        checked={shows.includes(part)}
        onChange={({ target }) => onChange(target.checked ? [...shows, part] : shows.filter((other) => other !== part))}
      />
      {words}
    </label>
  ));
}

interface TimeFieldProps {
  readonly seconds: number;
  readonly onChange: (seconds: number) => void;
}

function TimeField({ seconds, onChange }: TimeFieldProps) {
  const id = useId();
  return (
    <>
      <label htmlFor={id}>It lasts</label>
      <select
        id={id}
        className="input job-language"
        value={seconds}
        onChange={({ target }) => onChange(Number(target.value))}
      >
        {TIMES.map(([value, words]) => (
          <option key={value} value={value}>
            {words}
          </option>
        ))}
      </select>
    </>
  );
}

function Address({ address }: { readonly address: string }) {
  return (
    <div className="field" role="status">
      <p>This address is shown once. Copy it now.</p>
      <pre className="source" tabIndex={0} role="region" aria-label="Address of the link">
        {address}
      </pre>
      <div className="row">
        <CopyButton text={address} what="the address of the link" isPrimary />
      </div>
    </div>
  );
}

function LinkTable({ job_id, items }: { readonly job_id: string; readonly items: LinkList['items'] }) {
  const { client } = useCaller();
  const queries = useQueryClient();
  const show = useToast();
  const revoking = useMutation({
    mutationFn: (link_id: string) => client.revokeLink(job_id, link_id),
    onError: (error) => show(failureWords(error).sentence),
    onSettled: () => queries.invalidateQueries({ queryKey: ['links', job_id] }),
  });
  return (
    <Table columns={['Made', 'Ends', 'Shows too', 'By', 'End it']} label="Links as a table">
      {items.map((link) => (
        <LinkRow key={link.link_id} link={link} isBusy={revoking.isPending} onEnd={revoking.mutate} />
      ))}
    </Table>
  );
}

interface LinkRowProps {
  readonly link: LinkList['items'][number];
  readonly isBusy: boolean;
  readonly onEnd: (link_id: string) => void;
}

function LinkRow({ link: { link_id, created_at, expires_at, shows, principal }, isBusy, onEnd }: LinkRowProps) {
  return (
    <tr>
      <td>
        <Moment at={created_at} />
      </td>
      <td>
        <Moment at={expires_at} />
      </td>
      <td>{shows.join(', ') || 'nothing'}</td>
      <td>{printable(principal, 60)}</td>
      <td>
        <button
          className="button plain"
          type="button"
          aria-label={`End the link ${printable(link_id, 20)}`}
          disabled={isBusy}
          onClick={() => onEnd(link_id)}
        >
          End
        </button>
      </td>
    </tr>
  );
}
