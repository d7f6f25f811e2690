/** A job's labels. Each is a link to all jobs with that label. */
import { printable } from '@vouchbox/protocol/vocabulary';
import { Link } from 'wouter';
import { addressOfLabel } from './filters.ts';

export function Labels({ labels }: { readonly labels: readonly string[] }) {
  return labels.map((label) => (
    <Link key={label} href={addressOfLabel(label)} className="label">
      {printable(label)}
    </Link>
  ));
}
