/** Shows a job's submission. */
import type { OutputName, StoredSpec } from '@vouchbox/client';
import { LIBRARIES_FILE, printable, printableText } from '@vouchbox/protocol/vocabulary';
import { amountOf } from '@vouchbox/protocol/words';
import { Link } from 'wouter';
import { CopyButton } from '../parts/copy-button.tsx';
import { Facts } from '../parts/facts.tsx';
import { Fold } from '../parts/fold.tsx';
import { FOLDS } from './glance.tsx';

export function Program({ spec }: { readonly spec: StoredSpec }) {
  const {
    code = '',
    stdin,
    named_stdin: named,
    args = [],
    env = {},
    files = [],
    outputs = [],
    large_outputs: large,
    requirements,
    reproducible,
  } = spec;
  return (
    <Fold
      title={FOLDS.program}
      brief={amountOf(code.trimEnd().split('\n').length, 'line')}
      actions={<CopyButton text={code} what="the program" />}
    >
      <pre className="source" tabIndex={0} aria-label="Source" role="region">
        {printableText(code)}
      </pre>
      <Facts
        facts={[
          ['Arguments', listed(args)],
          ['Variables', listed(Object.keys(env))],
          ['Input files', listed(files.map(({ path }) => path).filter((path) => path !== LIBRARIES_FILE))],
          ...files.flatMap((file) => (file.path === LIBRARIES_FILE ? [librariesOf(file)] : [])),
          ...files.flatMap((file) => ('from' in file ? [[printable(file.path), outputOf(file.from)] as const] : [])),
          ...(named ? [['stdin', named.from ? outputOf(named.from) : listed([named.blob])] as const] : []),
          ['Files to bring back', listed(outputs)],
          ...(large
            ? [['Large outputs', listed([...large.paths, ...(large.stdout === null ? [] : [large.stdout])])] as const]
            : []),
          ...(reproducible ? [['Hash seeds', 'fixed'] as const] : []),
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
    </Fold>
  );
}

function librariesOf(archive: NonNullable<StoredSpec['files']>[number]) {
  return ['Libraries', listed(['blob' in archive ? archive.blob : archive.path])] as const;
}

/** A link to the job that made an input. */
function outputOf({ job_id, path }: OutputName) {
  return <Link href={`/jobs/${job_id}`}>{`${printable(path)} of ${job_id}`}</Link>;
}

function listed(words: readonly string[]) {
  if (words.length === 0) return '—';
  return <code>{words.map((word) => printable(word, 200)).join(', ')}</code>;
}
