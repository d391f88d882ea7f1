/** The object as YAML: read, and edited where the user may. */
import { useEffect, useState } from 'preact/hooks';
import { ApiError } from '../../api/http.ts';
import { type ObjectRef, objectPath } from '../../api/kinds.ts';
import { readYaml } from '../../api/objects.ts';
import { setParams } from '../../app/router.ts';
import { texts } from '../../app/texts.ts';
import { Edit } from './edit.tsx';
import { withoutBookKeeping } from './yaml-text.ts';

interface YamlProps {
  readonly of: ObjectRef;
  /** Of the object: another one is another text. */
  readonly version: string;
  /** The state of that version is shown, not the present one. */
  readonly isPast: boolean;
  readonly mayEdit: boolean;
  readonly editing: boolean;
}

export function Yaml({ of: ref, version, isPast, mayEdit, editing }: YamlProps) {
  const [text, setText] = useState<string>();
  const [error, setError] = useState('');
  const path = objectPath(ref);
  useEffect(() => {
    let current = true;
    readYaml(ref, isPast ? version : '').then(
      (yaml) => current && setText(withoutBookKeeping(yaml)),
      (failure: unknown) => {
        if (!(failure instanceof ApiError)) throw failure;
        if (current) setError(failure.message);
      },
    );
    return () => {
      current = false;
    };
  }, [path, version, isPast]);
  if (error !== '') return <p role="alert">{error}</p>;
  if (text === undefined) return <p class="dim">{texts.shell.loading}</p>;
  if (editing && mayEdit) return <Edit of={ref} text={text} onEnd={() => setParams({ edit: '' })} />;
  return (
    <section class="object-yaml" aria-label={texts.object.tabs.yaml}>
      {mayEdit ? (
        <button type="button" onClick={() => setParams({ edit: '1' })}>
          {texts.edit.begin}
        </button>
      ) : null}
      <pre class="mono" tabIndex={0}>
        {text}
      </pre>
    </section>
  );
}
