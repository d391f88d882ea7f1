/** Reads the secrets of volumes. Upstream: pkg/volume/util (GetSecretForPV, GetSecretForPod). */
import { Secrets } from '../../api/gen/resources.ts';
import { errorMessage } from '../../base/errors.ts';
import type { Client } from '../../client/client.ts';

/** Names a secret. */
export interface SecretKey {
  readonly namespace: string;
  readonly name: string;
}

/** The secret that a volume names; without a namespace it is in the pod's namespace. */
export function secretKeyOf(
  reference: { readonly name?: string; readonly namespace?: string } | undefined,
  podNamespace = '',
): SecretKey | undefined {
  const { name = '', namespace = podNamespace } = reference ?? {};
  return name === '' ? undefined : { namespace, name };
}

/** A secret's values in base64, as the API has them; empty without a key. */
export async function encodedSecretValues(
  client: Client,
  key: SecretKey | undefined,
): Promise<Readonly<Record<string, string>>> {
  if (key === undefined) return {};
  const { namespace, name } = key;
  try {
    return (await client.resource(Secrets).get({ namespace, name })).data ?? {};
  } catch (error) {
    const text = errorMessage(error);
    throw new Error(`failed to find the secret ${name} in the namespace ${namespace} with error: ${text}`, {
      cause: error,
    });
  }
}

/** A secret's values as texts; empty without a key. */
export async function secretValues(client: Client, key: SecretKey | undefined): Promise<Record<string, string>> {
  const values = Object.entries(await encodedSecretValues(client, key));
  return Object.fromEntries(values.map(([name, value]) => [name, Buffer.from(value, 'base64').toString()]));
}
