/** The object as YAML, which the user can edit with the right to patch it. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import { type ObjectRef, objectPath } from '../../api/kinds.ts';
import { readYaml } from '../../api/objects.ts';
import { setParams } from '../../app/router.ts';
import { texts } from '../../app/texts.ts';
import { Edit } from './edit.tsx';
import { withoutBookKeeping } from './yaml-text.ts';
import { yamlTokens } from './yaml-tokens.ts';

interface YamlProps {
  readonly of: ObjectRef;
  /** The object's version; another one has another text. */
  readonly version: string;
  /** The object is shown in that version, not in the current one. */
  readonly isPast: boolean;
  readonly mayEdit: boolean;
  readonly editing: boolean;
}

export function Yaml({ of: ref, version, isPast, mayEdit, editing }: YamlProps) {
  const [text, setText] = useState<string>();
  const [error, setError] = useState('');
  const path = objectPath(ref);
  useEffect(() => {
    const life = new AbortController();
    const put = (yaml: string): void => {
      setError('');
      setText(withoutBookKeeping(yaml));
    };
    void readYaml(ref, isPast ? version : '', { put, failed: ({ message }) => setError(message) }, life.signal);
    return () => life.abort();
  }, [path, version, isPast]);
  // Typed text is kept when a read fails.
  if (text !== undefined && editing && mayEdit)
    return <Edit of={ref} text={text} onEnd={() => setParams({ edit: '' })} />;
  if (error !== '') return <p role="alert">{error}</p>;
  if (text === undefined) return <p class="dim">{texts.shell.loading}</p>;
  return (
    <section class="object-yaml" aria-label={texts.object.tabs.yaml}>
      {mayEdit ? (
        <button type="button" onClick={() => setParams({ edit: '1' })}>
          {texts.edit.begin}
        </button>
      ) : null}
      <pre class="mono" tabIndex={0}>
        <Highlighted text={text} />
      </pre>
    </section>
  );
}

/** Longer texts are not coloured, because each piece is an element. */
const MAX_COLOURED_LINES = 5000;

function Highlighted({ text }: { readonly text: string }) {
  const lines = useMemo(() => yamlTokens(text), [text]);
  if (lines.length > MAX_COLOURED_LINES) return <>{text}</>;
  return (
    <>
      {lines.map((tokens, at) => (
        // The index is the only identity of a line.
        <span key={at}>
          {tokens.map(({ kind, text: piece }, index) => (
            <span key={index} class={`yaml-${kind}`}>
              {piece}
            </span>
          ))}
          {at < lines.length - 1 ? '\n' : ''}
        </span>
      ))}
    </>
  );
}
