/**
 * The editor, CodeMirror, in a shadow root. In a shadow root, it adopts style sheets. In a document, it would add style elements,
 * which the page's policy forbids.
 */
import { EditorState } from '@codemirror/state';
import { EditorView } from '@codemirror/view';
import { useEffect, useRef } from 'react';
import { editorSetup, languageOf, type Setup } from './editor-setup.ts';

interface EditorProps extends Setup {
  readonly language: string;
  readonly text: string;
}

export function Editor({ language, text, onChange, onRun }: EditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const latest = useRef({ onChange, onRun });
  latest.current = { onChange, onRun };
  const first = useRef({ language, text });
  useEffect(() => {
    if (host.current === null) return;
    const root = host.current.shadowRoot ?? host.current.attachShadow({ mode: 'open' });
    const setup = editorSetup({
      language: first.current.language,
      onChange: (next) => latest.current.onChange(next),
      onRun: () => latest.current.onRun(),
    });
    const made = new EditorView({ state: EditorState.create({ doc: first.current.text, extensions: setup }), root });
    root.replaceChildren(made.dom);
    view.current = made;
    return () => {
      first.current = { ...first.current, text: made.state.doc.toString() };
      made.destroy();
    };
  }, []);
  useEffect(() => {
    first.current = { ...first.current, language };
    view.current?.dispatch({ effects: languageOf(language) });
  }, [language]);
  useEffect(() => {
    const shown = view.current;
    if (shown === null || shown.state.doc.toString() === text) return;
    shown.dispatch({ changes: { from: 0, to: shown.state.doc.length, insert: text } });
  }, [text]);
  return <div className="editor" ref={host} />;
}
