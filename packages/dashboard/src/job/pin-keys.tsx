/** Takes the public keys that the person trusts. */
import { printable } from '@vouchbox/protocol/vocabulary';
import { type DragEvent, type SubmitEvent, useId, useState } from 'react';
import { ChooseFiles } from '../parts/choose-files.tsx';
import { pinKey, unpinKey, usePinnedKeys } from '../session/pinned-keys.ts';

/** The most bytes of a key file; a public key is far smaller. */
const keyBytesMax = 65_536;

export function PinKeys() {
  const pinned = usePinnedKeys();
  return (
    <div className="stack">
      {pinned.map(({ key_id }) => (
        <div key={key_id} className="row">
          <span className="digest">
            Pinned: <code>{key_id}</code>
          </span>
          <button className="button plain" type="button" onClick={() => unpinKey(key_id)}>
            Remove
          </button>
        </div>
      ))}
      <PinForm />
    </div>
  );
}

function PinForm() {
  const id = useId();
  const [pem, setPem] = useState('');
  const [problem, setProblem] = useState<string | null>(null);
  const pin = (text: string) => {
    const reason = pinKey(text);
    setProblem(reason && `This is not such a key: ${reason}`);
    setPem(reason === null ? '' : text);
  };
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    pin(pem);
  };
  const read = async (file: File | undefined) => {
    const refuse = () => setProblem(`${printable(file?.name ?? '', 80)} cannot be read.`);
    await file?.slice(0, keyBytesMax).text().then(pin, refuse);
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    void read(event.dataTransfer.files[0]);
  };
  return (
    <form className="field" onSubmit={submit} onDragOver={(event) => event.preventDefault()} onDrop={drop}>
      <label htmlFor={id}>Public key to pin</label>
      <textarea
        id={id}
        className="input"
        rows={3}
        spellCheck={false}
        placeholder="-----BEGIN PUBLIC KEY-----"
        value={pem}
        onChange={(event) => setPem(event.target.value)}
        aria-invalid={problem !== null}
        aria-describedby={`${id}-hint`}
      />
      <p id={`${id}-hint`} className="field-hint">
        Paste it or drop its file. It must have come from the operator another way: whoever can forge a result can show
        a key that matches.
      </p>
      {problem !== null && (
        <p className="field-error" role="alert">
          {problem}
        </p>
      )}
      <div className="row">
        <button className="button" type="submit" disabled={pem.trim() === ''}>
          Pin this key
        </button>
        <ChooseFiles
          label="Choose a file"
          className="button plain"
          accept=".pem,.pub"
          onChoose={([file]) => void read(file)}
        />
      </div>
    </form>
  );
}
