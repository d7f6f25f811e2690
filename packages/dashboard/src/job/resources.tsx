/** What the program used, as far as it could be read. */
import type { JobDetail } from '@vouchbox/client';
import { Facts } from '../parts/facts.tsx';
import { amountOf, durationOf, sizeOf } from '../words/amounts.ts';

export function Resources({ job: { receipt } }: { readonly job: JobDetail }) {
  const { resource_usage: used, output } = receipt ?? {};
  if (used === undefined) return <p className="soft">This is known once the program has ended.</p>;
  return (
    <Facts
      facts={[
        ['Time', durationOf(used.wall_ms)],
        ['Processor time', durationOf(used.cpu_ms)],
        ['Most memory at once', sizeOf(used.memory_peak_bytes)],
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
