/**
 * Comparing and merging records of the credentials an image was pulled with. Pure. Upstream:
 * pkg/kubelet/images/pullmanager.
 */
import type { ObjectIdentity, PullSource } from './pull-credentials.ts';
import { type PullCredentialsRecord, type PullSecretRecord } from './pull-records.ts';

/** The most secrets of one image that are recorded by verification without a pull. */
const NOTED_SECRETS = 100;

/**
 * Whether the image was pulled with the secret, by its credential or by its name; `new`: its credential must be
 * recorded.
 */
export function knowsSecret(
  pullSecretRecords: readonly PullSecretRecord[],
  own: PullSecretRecord,
): 'same' | 'new' | false {
  const sameObject = pullSecretRecords.some((each) => isSameObject(each, own));
  const room = pullSecretRecords.length < NOTED_SECRETS;
  if (pullSecretRecords.some(({ credentialHash }) => credentialHash === own.credentialHash))
    return !sameObject && room ? 'new' : 'same';
  return sameObject && room && 'new';
}

export function isSameObject(a: ObjectIdentity, b: ObjectIdentity): boolean {
  return a.uid === b.uid && a.namespace === b.namespace && a.name === b.name;
}

export function recordOf(source: PullSource | undefined, credentialHash: string): PullCredentialsRecord {
  if (source === undefined) return { nodePodsAccessible: true };
  if ('secret' in source) return { kubernetesSecrets: [{ ...source.secret, credentialHash }] };
  return { kubernetesServiceAccounts: [source.serviceAccount] };
}

/** Both records as one; undefined: nothing is added. */
export function merge(
  pullCredentialsRecord: PullCredentialsRecord | undefined,
  added: PullCredentialsRecord,
): PullCredentialsRecord | undefined {
  if (pullCredentialsRecord?.nodePodsAccessible) return undefined;
  if (added.nodePodsAccessible || pullCredentialsRecord === undefined) return added;
  const { kubernetesSecrets: secrets = [], kubernetesServiceAccounts: accounts = [] } = pullCredentialsRecord;
  const newSecrets = (added.kubernetesSecrets ?? []).filter(
    (own) => !secrets.some((each) => isSameObject(each, own) && each.credentialHash === own.credentialHash),
  );
  const newAccounts = (added.kubernetesServiceAccounts ?? []).filter(
    (own) => !accounts.some((each) => isSameObject(each, own)),
  );
  if (newSecrets.length + newAccounts.length === 0) return undefined;
  const remaining = secrets.filter((each) => !newSecrets.some((own) => isSameObject(each, own)));
  return {
    ...pullCredentialsRecord,
    ...(remaining.length + newSecrets.length > 0 && {
      kubernetesSecrets: [...remaining, ...newSecrets].toSorted(byObject),
    }),
    ...(accounts.length + newAccounts.length > 0 && {
      kubernetesServiceAccounts: [...accounts, ...newAccounts].toSorted(byObject),
    }),
  };
}

function byObject(a: ObjectIdentity, b: ObjectIdentity): number {
  const [left, right] = [a, b].map(({ namespace, name, uid }) => `${namespace}/${name}/${uid}`) as [string, string];
  return left < right ? -1 : 1;
}
