/** Whether custom resources are served, asked of the API server's own objects. */
import type { CustomResourceDefinition } from '../api/gen/apiextensions-v1.ts';
import { CustomResourceDefinitions } from '../api/gen/resources.ts';
import type { ObjectStore } from '../apiserver/registry/object-store.ts';
import { onAbort } from '../base/abort.ts';
import { createDeferred } from '../base/deferred.ts';

/** Whether the definition is established and serves the version. */
export function servesVersion(definition: CustomResourceDefinition | undefined, version: string): boolean {
  const isEstablished = definition?.status?.conditions?.some(
    ({ type, status }) => type === 'Established' && status === 'True',
  );
  return (
    isEstablished === true && definition!.spec.versions.some(({ name, served }) => name === version && served === true)
  );
}

/** Asks with what is there and at each change of a definition; undefined when the signal aborts first. */
export async function firstDefined<T>(
  objects: Pick<ObjectStore, 'onChange'>,
  find: () => T | undefined,
  signal: AbortSignal,
): Promise<T | undefined> {
  const found = createDeferred<T | undefined>();
  const check = (): void => {
    const value = find();
    if (value !== undefined) found.resolve(value);
  };
  const unhook = onAbort(signal, () => found.resolve(undefined));
  const stop = objects.onChange(CustomResourceDefinitions, check);
  try {
    return await found.promise;
  } finally {
    stop();
    unhook();
  }
}
