/** Links to other objects, when the server has their kind. */
import type { OwnerReference } from '../../../api/gen/meta-v1.ts';
import type { NamedObject } from '../../api/explain.ts';
import { apiVersionOf, type Kind, type ObjectRef } from '../../api/kinds.ts';
import { kindNamed, kinds } from '../../app/cluster-state.ts';
import { objectHref } from '../../app/hrefs.ts';

/** A link with the text `Pod web-1`. */
export function ObjectLink({ to, short = false }: { readonly to: ObjectRef; readonly short?: boolean }) {
  return <a href={objectHref('object', to)}>{short ? to.name : `${to.kind.kind} ${to.name}`}</a>;
}

/** A link to an object in the form of explanations: `pod/web-1`. */
export function NamedLink({ object: { kind: word, namespace = '', name } }: { readonly object: NamedObject }) {
  const kind = kindNamed(word);
  const text = `${word}/${name}`;
  return kind === undefined ? <>{text}</> : <a href={objectHref('object', { kind, namespace, name })}>{text}</a>;
}

/** The kind of a reference with `apiVersion` and `kind`. */
export function kindOfReference(apiVersion: string, kindName: string): Kind | undefined {
  const [group] = apiVersion.includes('/') ? apiVersion.split('/') : [''];
  return (
    kinds.value.find((kind) => kind.kind === kindName && apiVersionOf(kind) === apiVersion) ??
    kinds.value.find((kind) => kind.kind === kindName && kind.group === group)
  );
}

export function OwnerLink({ owner, namespace }: { readonly owner: OwnerReference; readonly namespace: string }) {
  const kind = kindOfReference(owner.apiVersion, owner.kind);
  if (kind === undefined) return <>{`${owner.kind} ${owner.name}`}</>;
  return <ObjectLink to={{ kind, namespace: kind.namespaced ? namespace : '', name: owner.name }} />;
}
