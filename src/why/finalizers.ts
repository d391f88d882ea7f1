/** Finalizers of a deleted object: their field managers and, for known finalizers, what they wait for. */
import type { KubernetesObject } from '../api/object.ts';
import type { ResourceInfo } from '../api/resource-info.ts';
import type { Evidence } from './evidence.ts';
import { cause, type Cause, type Cure } from './explanation.ts';
import { knownFinalizers } from './known-finalizers.ts';
import { inNamespace, nameOfObject } from './object-name.ts';
import { shellWord } from './shell-word.ts';

/** A cause for each finalizer of an object that is being deleted. */
export async function finalizerCauses(
  info: ResourceInfo,
  object: KubernetesObject,
  evidence: Evidence,
): Promise<readonly Cause[]> {
  const { deletionTimestamp, finalizers = [] } = object.metadata;
  if (deletionTimestamp === undefined) return [];
  const name = nameOfObject(info, object);
  const managers = managersOf(object);
  const causes: Cause[] = [];
  for (const [index, finalizer] of finalizers.entries()) {
    const manager = managers.get(`v:${JSON.stringify(finalizer)}`);
    const known = Object.hasOwn(knownFinalizers, finalizer) ? knownFinalizers[finalizer] : undefined;
    causes.push(
      cause({
        code: 'Finalizer',
        object: name,
        message: `finalizer ${finalizer}${manager === undefined ? '' : `, set by ${manager},`} has not been removed`,
        since: deletionTimestamp,
        cure: known === undefined ? removal(info, object, index) : { text: known.text },
        because: (await known?.causesBehind?.(object, evidence)) ?? [],
      }),
    );
  }
  return causes;
}

/** A patch that tests the finalizer at its index, so that it fails when another finalizer has moved there. */
function removal(info: ResourceInfo, object: KubernetesObject, index: number): Cure {
  const { kind, name, namespace } = nameOfObject(info, object);
  const finalizer = object.metadata.finalizers?.[index] ?? '';
  const path = `/metadata/finalizers/${index}`;
  const patch = [
    { op: 'test', path, value: finalizer },
    { op: 'remove', path },
  ];
  return {
    text: `see why the controller behind ${finalizer} does not finish; only if it will never run again, remove the finalizer`,
    command: `kubectl patch ${kind} ${name}${inNamespace({ namespace })} --type=json -p ${shellWord(JSON.stringify(patch))}`,
  };
}

/** The field manager that owns a finalizer, by the finalizer's path element. An object may have thousands of both. */
function managersOf({ metadata }: KubernetesObject): ReadonlyMap<string, string | undefined> {
  const managers = new Map<string, string | undefined>();
  for (const { manager, fieldsV1 } of metadata.managedFields ?? []) {
    const fields = (fieldsV1 ?? {}) as Record<string, Record<string, object | undefined> | undefined>;
    for (const element of Object.keys(fields['f:metadata']?.['f:finalizers'] ?? {}))
      if (!managers.has(element)) managers.set(element, manager);
  }
  return managers;
}
