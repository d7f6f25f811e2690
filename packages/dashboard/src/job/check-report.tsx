/** Shows what each check found. The first failed check says why the attestation is broken. */
import { printable, printableText } from '@vouchbox/protocol/vocabulary';
import { Notice } from '../parts/notice.tsx';
import { Chain } from './chain.tsx';
import type { CheckedRecord } from './check/check-record.ts';

export function CheckReport({ report }: { readonly report: CheckedRecord }) {
  const { checks, facts, notice, exitCode } = report;
  const bad = checks.find(({ isGood }) => !isGood);
  return (
    <div className="stack">
      <Notice tone={exitCode === 0 ? 'good' : 'bad'}>
        {exitCode === 0 ? (
          <p>
            <strong>Verified.</strong> A pinned key signed this result as it is here.
          </p>
        ) : (
          <p>
            <strong>Broken: {printable(bad?.name ?? 'unknown')}.</strong> {printable(bad?.detail ?? '')}
          </p>
        )}
      </Notice>
      <ul className="checks" aria-label="Checks">
        {checks.map(({ name, isGood, detail }) => (
          <li key={name} className={isGood ? 'check is-good' : 'check is-bad'}>
            <span className="check-verdict">{isGood ? 'holds' : 'broken'}</span>
            <code>{printable(name)}</code>
            <span>{printable(detail)}</span>
          </li>
        ))}
      </ul>
      <Chain record={report} />
      {notice !== null && <p className="small soft">{printableText(notice)}</p>}
      {typeof facts['isolation_class'] === 'string' && (
        <p className="small soft">
          Signed facts: status <code>{String(facts['status'])}</code>, isolation <code>{facts['isolation_class']}</code>
          .
        </p>
      )}
    </div>
  );
}
