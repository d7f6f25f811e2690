/** The receipt as it was stored. */
import { Collapsible } from '@base-ui/react/collapsible';
import type { Receipt as StoredReceipt } from '@vouchbox/client';
import { printableJson } from '@vouchbox/protocol/vocabulary';
import { CopyButton } from '../parts/copy-button.tsx';
import { Panel } from '../parts/panel.tsx';

export function Receipt({ receipt }: { readonly receipt: StoredReceipt }) {
  const text = printableJson(receipt, 2);
  return (
    <Panel title="Receipt" isWide actions={<CopyButton text={text} what="the receipt" />}>
      <p className="digest">
        <code>sha256:{receipt.receipt_sha256}</code>
      </p>
      <Collapsible.Root>
        <Collapsible.Trigger className="button">Show the whole receipt</Collapsible.Trigger>
        <Collapsible.Panel>
          <pre className="source">{text}</pre>
        </Collapsible.Panel>
      </Collapsible.Root>
    </Panel>
  );
}
