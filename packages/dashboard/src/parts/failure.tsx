/** An error in words for people, with the id by which an operator finds the request. */
import { printable } from '@vouchbox/protocol/vocabulary';
import { failureWords } from '../words/failure-words.ts';
import { Notice } from './notice.tsx';

export function Failure({ error }: { readonly error: unknown }) {
  const { sentence, code, requestId } = failureWords(error);
  return (
    <Notice tone="bad">
      <p>{sentence}</p>
      {code !== null && (
        <p className="small">
          <code>{printable(code)}</code>
          {requestId !== null && (
            <>
              {' · request '}
              <code>{printable(requestId)}</code>
            </>
          )}
        </p>
      )}
    </Notice>
  );
}
