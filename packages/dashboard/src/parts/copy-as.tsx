/** Shows a submission as a command or program that makes the same job. The key is read from a variable. */
import { Tabs } from '@base-ui/react/tabs';
import type { JobSubmission } from '@vouchbox/client';
import { useState } from 'react';
import { SNIPPETS } from '../words/snippets.ts';
import { CopyButton } from './copy-button.tsx';
import { Modal } from './modal.tsx';
import './tabs.css';

export function CopyAs({ submission }: { readonly submission: JobSubmission }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button className="button" type="button" aria-haspopup="dialog" onClick={() => setOpen(true)}>
        Copy as…
      </button>
      <Modal title="The same job, from elsewhere" isWide isOpen={isOpen} onClose={() => setOpen(false)}>
        <p className="small soft">
          Put your key into the variable <code>SERVICE_KEY</code>.
        </p>
        <Tabs.Root className="stack" defaultValue={SNIPPETS[0]?.name}>
          <Tabs.List className="tabs" aria-label="Languages">
            {SNIPPETS.map(({ name }) => (
              <Tabs.Tab key={name} value={name} className="tab">
                {name}
              </Tabs.Tab>
            ))}
          </Tabs.List>
          {SNIPPETS.map(({ name, textOf }) => (
            <Tabs.Panel key={name} value={name} className="stack">
              <Snippet name={name} text={textOf(submission, location.origin)} />
            </Tabs.Panel>
          ))}
        </Tabs.Root>
        <button className="button plain" type="button" onClick={() => setOpen(false)}>
          Close
        </button>
      </Modal>
    </>
  );
}

function Snippet({ name, text }: { readonly name: string; readonly text: string }) {
  return (
    <>
      <pre className="source" tabIndex={0} role="region" aria-label={name}>
        {text}
      </pre>
      <CopyButton text={text} what={`the job as ${name}`} isPrimary />
    </>
  );
}
