/** The editor's features and look. */
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import {
  bracketMatching,
  HighlightStyle,
  indentOnInput,
  indentUnit,
  StreamLanguage,
  syntaxHighlighting,
} from '@codemirror/language';
import { Compartment, type Extension, type StateEffect } from '@codemirror/state';
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { GRAMMARS } from './grammars.ts';

export interface Setup {
  readonly onChange: (text: string) => void;
  readonly onRun: () => void;
}

const grammar = new Compartment();

function grammarOf(language: string): Extension {
  const known = GRAMMARS[language];
  const unit = indentUnit.of(language === 'python' ? '    ' : '  ');
  return known === undefined ? unit : [StreamLanguage.define(known), unit];
}

/** Changes the language of an editor. */
export function languageOf(language: string): StateEffect<unknown> {
  return grammar.reconfigure(grammarOf(language));
}

/** The editor's setup. Tab indents; Escape followed by Tab leaves the editor, as the field's description says. */
export function editorSetup({ language, onChange, onRun }: Setup & { readonly language: string }): Extension {
  const run = () => {
    onRun();
    return true;
  };
  return [
    lineNumbers(),
    highlightSpecialChars(),
    highlightActiveLine(),
    history(),
    drawSelection(),
    indentOnInput(),
    bracketMatching(),
    syntaxHighlighting(COLOURS),
    grammar.of(grammarOf(language)),
    keymap.of([{ key: 'Mod-Enter', run }, indentWithTab, ...defaultKeymap, ...historyKeymap]),
    EditorView.contentAttributes.of({
      'aria-label': 'Program',
      'aria-description': 'Press Escape and then Tab to leave the editor.',
      spellcheck: 'false',
      tabindex: '0',
    }),
    EditorView.domEventHandlers({ beforeinput: typeOver }),
    EditorView.updateListener.of(({ docChanged, state }) => {
      if (docChanged) onChange(state.doc.toString());
    }),
    LOOK,
  ];
}

/**
 * Replaces a selection with the typed text. Without this, Chromium would join the lines below the selection by adding
 * markup with a style, and the page's policy would refuse the style and report that in the console.
 */
function typeOver(event: InputEvent, view: EditorView): boolean {
  if (event.inputType !== 'insertText' || event.data === null || view.state.selection.main.empty) return false;
  event.preventDefault();
  view.dispatch(view.state.replaceSelection(event.data), { userEvent: 'input.type', scrollIntoView: true });
  return true;
}

const COLOURS = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: 'var(--busy)' },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], color: 'var(--good)' },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: 'var(--warn)' },
  { tag: [tags.comment], color: 'var(--ink-soft)', fontStyle: 'italic' },
  { tag: [tags.typeName, tags.className, tags.standard(tags.variableName)], color: 'var(--accent)' },
  { tag: [tags.invalid], color: 'var(--bad)' },
]);

const LOOK = EditorView.theme({
  '&': { backgroundColor: 'var(--surface)', color: 'var(--ink)', fontSize: '0.875rem', height: '100%' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.6' },
  '.cm-gutters': { backgroundColor: 'var(--sunken)', color: 'var(--ink-soft)', border: '0' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--accent-ground)' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'var(--busy-ground)',
  },
  '&.cm-focused .cm-matchingBracket': { backgroundColor: 'var(--good-ground)' },
});
