/** What was submitted. */
import type { StoredSpec } from '@vouchbox/client';
import { printable, printableText } from '@vouchbox/protocol/vocabulary';
import { Link } from 'wouter';
import { CopyButton } from '../parts/copy-button.tsx';
import { Facts } from '../parts/facts.tsx';
import { Panel } from '../parts/panel.tsx';

export function Program({ spec }: { readonly spec: StoredSpec }) {
  const { code = '', stdin, args = [], env = {}, files = [], outputs = [], requirements } = spec;
  return (
    <Panel title="Program" isWide actions={<CopyButton text={code} what="the program" />}>
      <pre className="source" tabIndex={0} aria-label="Source" role="region">
        {printableText(code)}
      </pre>
      <Facts
        facts={[
          ['Arguments', listed(args)],
          ['Variables', listed(Object.keys(env))],
          ['Input files', listed(files.filter((file) => !('from' in file)).map(({ path }) => path))],
          ...(files.some((file) => 'from' in file) ? [['From other jobs', outputsOf(files)] as const] : []),
          ['Files to bring back', listed(outputs)],
          ['Weakest isolation', requirements?.minimum_isolation ?? '—'],
        ]}
      />
      {stdin != null && (
        <div className="stack-small">
          <h3>stdin</h3>
          <pre className="source" tabIndex={0} aria-label="stdin" role="region">
            {printableText(stdin)}
          </pre>
        </div>
      )}
    </Panel>
  );
}

/** The files that are outputs of other jobs, with those jobs. */
function outputsOf(files: NonNullable<StoredSpec['files']>) {
  return (
    <ul className="stack-small">
      {files.map(
        (file) =>
          'from' in file && (
            <li key={file.path}>
              <code>{printable(file.path, 200)}</code> is <code>{printable(file.from.path, 200)}</code> of{' '}
              <Link href={`/jobs/${encodeURIComponent(file.from.job_id)}`}>{printable(file.from.job_id, 60)}</Link>
            </li>
          ),
      )}
    </ul>
  );
}

function listed(words: readonly string[]) {
  if (words.length === 0) return '—';
  return <code>{words.map((word) => printable(word, 200)).join(', ')}</code>;
}
