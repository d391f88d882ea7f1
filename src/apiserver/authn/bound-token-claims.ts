/**
 * Checks the private claims of a service-account token against the objects it is bound to. Upstream: privateClaims and
 * Validate in pkg/serviceaccount/claims.go.
 */
import { Nodes, Pods, Secrets, ServiceAccounts } from '../../api/gen/resources.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import { unauthorized } from '../../api/status-error.ts';
import { parseTime } from '../../api/time.ts';
import type { Principal } from '../../api/transport.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import type { JwtClaims } from './jwt.ts';

/** An object by name and uid. */
export interface Reference {
  readonly name: string;
  readonly uid: string;
}

export interface Claims extends JwtClaims {
  readonly 'kubernetes.io'?: {
    readonly namespace?: string;
    readonly serviceaccount?: Reference;
    readonly pod?: Reference;
    /** Without uid when the node was gone at issue. */
    readonly node?: { readonly name: string; readonly uid?: string };
    readonly secret?: Reference;
  };
}

/** The tolerated clock difference between servers; a token outlives its bound object by as much. */
export const LEEWAY_SECONDS = 60;

interface TokenValidationDeps {
  readonly objects: ObjectStore;
  readonly nowMs: number;
}

export async function principalOf(claims: Claims, living: TokenValidationDeps): Promise<Principal> {
  const details = claims['kubernetes.io'];
  const namespace = details?.namespace ?? '';
  const account = details?.serviceaccount;
  if (details === undefined || account === undefined) throw unauthorized('the token names no service account');
  await requireAllLiving(living, details, { namespace, account });
  const extra: Record<string, readonly string[]> = {};
  if (claims.jti !== undefined) extra['authentication.kubernetes.io/credential-id'] = [`JTI=${claims.jti}`];
  for (const kind of ['pod', 'node'] as const) {
    const reference = details[kind];
    if (reference === undefined) continue;
    extra[`authentication.kubernetes.io/${kind}-name`] = [reference.name];
    if (reference.uid !== undefined) extra[`authentication.kubernetes.io/${kind}-uid`] = [reference.uid];
  }
  return { ...accountPrincipal(namespace, account.name), uid: account.uid, extra };
}

async function requireAllLiving(
  living: TokenValidationDeps,
  { pod, secret, node }: NonNullable<Claims['kubernetes.io']>,
  { namespace, account }: { readonly namespace: string; readonly account: Reference },
): Promise<void> {
  await requireLiving(living, ServiceAccounts, { namespace, ...account });
  if (pod !== undefined) await requireLiving(living, Pods, { namespace, ...pod });
  if (secret !== undefined) await requireLiving(living, Secrets, { namespace, ...secret });
  if (pod === undefined && node !== undefined) await requireLiving(living, Nodes, { namespace: '', ...node });
}

/** The cache may lag behind another server's writes, so only a read from the store invalidates a token. */
async function requireLiving<T extends KubernetesObject>(
  { objects, nowMs }: TokenValidationDeps,
  info: ResourceInfo<T>,
  reference: { namespace: string; name: string; uid?: string },
): Promise<void> {
  const { namespace, name, uid } = reference;
  const cached = objects.get(info, namespace, name);
  const found = cached?.metadata.uid === uid ? cached : await objects.getFresh(info, namespace, name);
  if (found === undefined || found.metadata.uid !== uid)
    throw unauthorized(`the ${info.singular} the token is bound to is gone`);
  if (parseTime(found.metadata.deletionTimestamp) < nowMs - LEEWAY_SECONDS * 1000)
    throw unauthorized(`the ${info.singular} the token is bound to has been deleted`);
}

export function accountUser(namespace: string, name: string): string {
  return `system:serviceaccount:${namespace}:${name}`;
}

/** The user a service account acts as. */
export function accountPrincipal(namespace: string, name: string): Principal {
  return {
    name: accountUser(namespace, name),
    groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'],
  };
}
