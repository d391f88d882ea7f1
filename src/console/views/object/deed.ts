/** One thing that can be done to an object, with the kubectl command it equals. */
import type { ComponentType } from 'preact';
import type { KubernetesObject } from '../../../api/object.ts';
import type { ObjectRef } from '../../api/kinds.ts';
import type { Need } from '../../parts/access.ts';

/** What stands in a deed's dialog. */
export interface DeedProps {
  readonly of: ObjectRef;
  readonly object: KubernetesObject;
  readonly onDone: () => void;
}

interface AnyDeed {
  readonly label: string;
  /** All of them are needed. */
  readonly needs: readonly Need[];
}

/** A deed that is confirmed. `input` is what it takes: replicas, a name. */
export interface PlainDeed extends AnyDeed {
  readonly destroys?: boolean;
  readonly input?: { readonly label: string; readonly type: 'number' | 'text'; readonly value: string };
  command(input: string): string;
  run(input: string): Promise<unknown>;
}

/** A deed with a dialog of its own. */
export interface DialogDeed extends AnyDeed {
  readonly Dialog: ComponentType<DeedProps>;
}

export type Deed = PlainDeed | DialogDeed;

/** `deployment/web -n shop`; a node of its own command by name alone. */
export function target({ kind: { singular, resource, group }, namespace, name }: ObjectRef): string {
  const ofKubernetes = group === '' || !group.includes('.') || group.endsWith('.k8s.io');
  const word = singular || resource;
  return `${ofKubernetes ? word : `${word}.${group}`}/${name}${namespace === '' ? '' : ` -n ${namespace}`}`;
}
