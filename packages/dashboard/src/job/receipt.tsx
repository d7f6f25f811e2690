/** Shows the receipt exactly as it was stored. */
import type { Receipt as StoredReceipt } from '@vouchbox/client';
import { printableJson } from '@vouchbox/protocol/vocabulary';
import { CopyButton } from '../parts/copy-button.tsx';
import { Fold } from '../parts/fold.tsx';

export function Receipt({ receipt }: { readonly receipt: StoredReceipt }) {
  const text = printableJson(receipt, 2);
  return (
    <Fold
      title="Receipt"
      brief={`sha256:${receipt.receipt_sha256}`}
      actions={<CopyButton text={text} what="the receipt" />}
    >
      <p className="digest">
        <code>sha256:{receipt.receipt_sha256}</code>
      </p>
      <pre className="source" tabIndex={0} role="region" aria-label="The whole receipt">
        {text}
      </pre>
    </Fold>
  );
}
