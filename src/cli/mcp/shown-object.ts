/** An object as an assistant sees it: without managed fields, and without the values of secrets. */
import type { KubernetesObject } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';

/** kubectl apply keeps the whole object in it, values of secrets included. */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

export function withoutNoise(info: ResourceInfo, object: KubernetesObject, showsSecrets: boolean): KubernetesObject {
  const { managedFields: _fields, annotations, ...metadata } = object.metadata;
  const { [LAST_APPLIED]: _applied, ...kept } = annotations ?? {};
  const shown = { ...object, metadata: Object.keys(kept).length === 0 ? metadata : { ...metadata, annotations: kept } };
  const isSecret = info.group === '' && info.resource === 'secrets';
  return isSecret && !showsSecrets ? withoutValues(shown) : shown;
}

function withoutValues(
  secret: KubernetesObject & { readonly data?: Readonly<Record<string, string>> },
): KubernetesObject {
  const data = Object.entries(secret.data ?? {}).map(([key, value]) => {
    const bytes = Buffer.byteLength(value, 'base64');
    return [key, `(${bytes} bytes, not shown)`] as const;
  });
  return { ...secret, data: Object.fromEntries(data) } as KubernetesObject;
}
