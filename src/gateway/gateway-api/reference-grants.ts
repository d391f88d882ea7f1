/** References to objects of other namespaces, which need a ReferenceGrant there. */
import type { ReferenceGrant } from './types.ts';

export interface CrossReference {
  readonly from: { readonly group: string; readonly kind: string; readonly namespace: string };
  readonly to: {
    readonly group: string;
    readonly kind: string;
    readonly namespace: string;
    readonly name: string;
  };
}

export function isGranted(grants: readonly ReferenceGrant[], { from, to }: CrossReference): boolean {
  if (from.namespace === to.namespace) return true;
  return grants.some(
    ({ metadata, spec }) =>
      metadata.namespace === to.namespace &&
      spec.from.some(
        ({ group, kind, namespace }) => group === from.group && kind === from.kind && namespace === from.namespace,
      ) &&
      spec.to.some(
        ({ group, kind, name = '' }) => group === to.group && kind === to.kind && (name === '' || name === to.name),
      ),
  );
}
