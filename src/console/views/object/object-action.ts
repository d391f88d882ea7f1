/** An action on an object, with the equivalent kubectl command. */
import type { ComponentType } from 'preact';
import type { KubernetesObject } from '../../../api/object.ts';
import type { ObjectRef } from '../../api/kinds.ts';
import type { Need } from '../../parts/access.ts';

/** The properties of an action's dialog. */
export interface ActionDialogProps {
  readonly of: ObjectRef;
  readonly object: KubernetesObject;
  readonly onDone: () => void;
}

interface AnyAction {
  readonly label: string;
  /** The user must have all of these rights. */
  readonly needs: readonly Need[];
}

/** An action that the user confirms. `input` is its parameter: replicas, a name. */
export interface ConfirmedAction extends AnyAction {
  readonly destroys?: boolean;
  readonly input?: { readonly label: string; readonly type: 'number' | 'text'; readonly value: string };
  command(input: string): string;
  run(input: string): Promise<unknown>;
}

/** An action with a dialog of its own. */
export interface DialogAction extends AnyAction {
  readonly Dialog: ComponentType<ActionDialogProps>;
}

export type ObjectAction = ConfirmedAction | DialogAction;

/** The arguments of a command: `deployment/web -n shop`; commands about nodes have only the name. */
export function target({ kind: { singular, resource, group }, namespace, name }: ObjectRef): string {
  const ofKubernetes = group === '' || !group.includes('.') || group.endsWith('.k8s.io');
  const word = singular || resource;
  return `${ofKubernetes ? word : `${word}.${group}`}/${name}${namespace === '' ? '' : ` -n ${namespace}`}`;
}
