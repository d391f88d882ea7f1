/** CodeMirror for YAML, loaded when an object is edited. */
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import { bracketMatching, foldGutter, HighlightStyle, indentOnInput, syntaxHighlighting } from '@codemirror/language';
import { highlightSelectionMatches, search, searchKeymap } from '@codemirror/search';
import { EditorState } from '@codemirror/state';
import { EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { pathOfLine } from './yaml-path.ts';

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--accent)' },
  { tag: [tags.string, tags.content], color: 'var(--text)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--good)' },
  { tag: tags.comment, color: 'var(--dim)' },
]);

const theme = EditorView.theme({
  '&': { height: '60vh', fontSize: '12.5px', color: 'var(--text)', backgroundColor: 'var(--surface)' },
  '&.cm-focused': { outline: '2px solid var(--focus)', outlineOffset: '0' },
  '.cm-scroller': { fontFamily: 'var(--mono)' },
  '.cm-content': { caretColor: 'var(--text)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': { backgroundColor: 'var(--page)', color: 'var(--dim)', border: 'none' },
  '.cm-activeLine': { backgroundColor: 'color-mix(in srgb, var(--hover) 60%, transparent)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    background: 'var(--selected)',
  },
  '.cm-panels': { backgroundColor: 'var(--raised)', color: 'var(--text)' },
});

export interface Editor {
  text(): string;
  destroy(): void;
}

export interface EditorOptions {
  readonly text: string;
  readonly label: string;
  /** Called with the path of the field at the cursor. */
  readonly onField: (path: readonly string[]) => void;
}

/** Opens the editor in a shadow root, because the page's policy lets CodeMirror adopt its style sheet there. */
export function openEditor(host: HTMLElement, options: EditorOptions): Editor {
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' });
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: options.text,
      extensions: [
        lineNumbers(),
        foldGutter(),
        history(),
        indentOnInput(),
        bracketMatching(),
        highlightActiveLine(),
        highlightSelectionMatches(),
        search({ top: true }),
        yaml(),
        syntaxHighlighting(colours),
        theme,
        EditorView.updateListener.of(({ state, selectionSet, docChanged }) => {
          if (selectionSet || docChanged) options.onField(fieldAt(state));
        }),
        EditorView.contentAttributes.of({ 'aria-label': options.label }),
        keymap.of([...defaultKeymap, ...historyKeymap, ...searchKeymap]),
      ],
    }),
  });
  view.scrollDOM.tabIndex = 0; // makes a long object scrollable by keys
  view.focus();
  options.onField(fieldAt(view.state));
  return { text: () => view.state.doc.toString(), destroy: () => view.destroy() };
}

function fieldAt({ doc, selection }: EditorState): readonly string[] {
  const { head } = selection.main;
  const { number, from } = doc.lineAt(head);
  return pathOfLine(doc.toString().split('\n'), number - 1, head - from);
}
