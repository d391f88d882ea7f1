/** The description of the field at the cursor, beside the editor. */
import { useEffect, useState } from 'preact/hooks';
import { type FieldDoc, type FieldDocs, readFieldDocs } from '../../api/field-docs.ts';
import { ApiError } from '../../api/http.ts';
import { type Kind, kindId } from '../../api/kinds.ts';
import { texts } from '../../app/texts.ts';

const { help: words } = texts.edit;

type Loaded = { readonly docs: FieldDocs | undefined } | { readonly error: string } | undefined;

export function SchemaHelp({ kind, path }: { readonly kind: Kind; readonly path: readonly string[] }) {
  const [loaded, setLoaded] = useState<Loaded>();
  useEffect(() => {
    let current = true;
    readFieldDocs(kind).then(
      (docs) => current && setLoaded({ docs }),
      (failure: unknown) => {
        if (!(failure instanceof ApiError)) throw failure;
        if (current) setLoaded({ error: failure.message });
      },
    );
    return () => {
      current = false;
    };
  }, [kindId(kind)]);
  return (
    <aside class="object-help" aria-label={words.title} tabIndex={0}>
      {loaded === undefined ? (
        <p class="dim">{texts.shell.loading}</p>
      ) : (
        <Loading kind={kind} loaded={loaded} path={path} />
      )}
    </aside>
  );
}

interface LoadingProps {
  readonly kind: Kind;
  readonly loaded: NonNullable<Loaded>;
  readonly path: readonly string[];
}

function Loading({ kind, loaded, path }: LoadingProps) {
  if ('error' in loaded) return <p role="alert">{loaded.error}</p>;
  if (loaded.docs === undefined) return <p class="dim">{words.none}</p>;
  return <Field kind={kind} doc={loaded.docs.at(path)} />;
}

function Field({
  kind,
  doc: { path, type, description, values, preset, fields },
}: {
  readonly kind: Kind;
  readonly doc: FieldDoc;
}) {
  const place = [kind.singular || kind.resource, ...path.filter((key) => key !== '[]')].join('.');
  return (
    <>
      <h2 class="mono">{path.length === 0 ? kind.kind : path.join('.').replaceAll('.[]', '[]')}</h2>
      <p class="dim mono">{type}</p>
      <p class="object-help-text">{description === '' ? words.undescribed : description}</p>
      {values.length === 0 ? null : <p>{words.values(values.join(', '))}</p>}
      {preset === '' ? null : <p>{words.preset(preset)}</p>}
      {fields.length === 0 ? null : (
        <dl>
          {fields.map((field) => (
            <div key={field.name}>
              <dt>
                <span class="mono">{field.name}</span> <span class="dim">{field.type}</span>
                {field.required ? <strong>{` ${words.required}`}</strong> : null}
              </dt>
              <dd class="dim">{firstSentence(field.description)}</dd>
            </div>
          ))}
        </dl>
      )}
      <p class="dim">{texts.object.equals}</p>
      <code class="mono">{`kubectl explain ${place}`}</code>
    </>
  );
}

function firstSentence(text: string): string {
  return /^.*?[.!?](?=\s|$)/s.exec(text)?.[0] ?? text;
}
