/** Whether custom resources are served, asked of the API server's own objects. */
import { isConditionTrue } from '../component-helpers/conditions.ts';
import type { CustomResourceDefinition } from '../api/gen/apiextensions-v1.ts';
import { CustomResourceDefinitions } from '../api/gen/resources.ts';
import type { ObjectStore } from '../apiserver/registry/object-store.ts';
import { onAbort } from '../base/abort.ts';
import { createDeferred } from '../base/deferred.ts';

/** Whether the definition is established and serves the version. */
export function servesVersion(definition: CustomResourceDefinition | undefined, version: string): boolean {
  return (
    definition !== undefined &&
    isConditionTrue(definition, 'Established') &&
    definition.spec.versions.some(({ name, served }) => name === version && served === true)
  );
}

/** Asks with what is there and at each change of a definition; undefined when the signal aborts first. */
export async function firstDefined<T>(
  objects: Pick<ObjectStore, 'onChange'>,
  find: () => T | undefined,
  signal: AbortSignal,
): Promise<T | undefined> {
  const firstServed = createDeferred<T | undefined>();
  const check = (): void => {
    const value = find();
    if (value !== undefined) firstServed.resolve(value);
  };
  const unhook = onAbort(signal, () => firstServed.resolve(undefined));
  const stop = objects.onChange(CustomResourceDefinitions, check);
  try {
    return await firstServed.promise;
  } finally {
    stop();
    unhook();
  }
}
