/**
 * DynamicResources: pods with resource claims run where the claims are allocated, and are written into them before they are
 * bound. Upstream: plugins/dynamicresources. Not here: allocating devices for claims that have none; such pods wait, with the
 * reason, until something else has allocated their claims.
 */
import type { Pod } from '../../../api/gen/core-v1.ts';
import type { ResourceClaim } from '../../../api/gen/resource-v1.ts';
import { ResourceClaims } from '../../../api/gen/resources.ts';
import type { Client } from '../../../client/client.ts';
import { nodeSelectorTermMatches } from '../../../component-helpers/node-affinity.ts';
import type { ClusterObjects } from '../../framework/plugin-deps.ts';
import type { SchedulerPlugin } from '../../framework/plugin.ts';
import { failed, unresolvable, type Status } from '../../framework/status.ts';

const NAME = 'DynamicResources';
const UNREACHABLE = unresolvable(NAME, 'resourceclaim not available on the node');
/** Upstream's limit of consumers of one claim. */
const MAX_CONSUMERS = 256;

/** What the plugin works with. */
export interface DynamicResourcesDeps extends Pick<ClusterObjects, 'resourceClaim'> {
  readonly client: Client;
}

/** Creates the plugin. */
export function createDynamicResources(deps: DynamicResourcesDeps): SchedulerPlugin {
  return {
    name: NAME,
    preEnqueue(pod) {
      const found = findClaims(deps, pod);
      return 'code' in found && found.code === 'pending' ? found : undefined;
    },
    preFilter(state, pod) {
      if ((pod.spec?.resourceClaims ?? []).length === 0) return { code: 'skip', reasons: [], plugin: NAME };
      const found = findClaims(deps, pod);
      if ('code' in found) return found;
      const refusal = refuse(found.claims, pod);
      if (refusal !== undefined) return unresolvable(NAME, refusal);
      state.set(NAME, found.claims);
      return undefined;
    },
    filter(state, _pod, { node }) {
      for (const { status } of state.get(NAME) as readonly ResourceClaim[]) {
        const terms = status?.allocation?.nodeSelector?.nodeSelectorTerms;
        if (terms !== undefined && !terms.some((term) => nodeSelectorTermMatches(term, node))) return UNREACHABLE;
      }
      return undefined;
    },
    async preBind(state, pod, { signal }) {
      try {
        for (const claim of (state.get(NAME) as readonly ResourceClaim[] | undefined) ?? [])
          await reserveFor(deps, { claim, pod }, signal);
        return undefined;
      } catch (error) {
        return failed(NAME, error);
      }
    },
    events: [{ event: 'resource-claim' }, { event: 'pod/update' }],
  };
}

/** The claims of the pod; a rejection while one is still to be made from its template, or is missing. */
function findClaims({ resourceClaim }: DynamicResourcesDeps, pod: Pod): { claims: ResourceClaim[] } | Status {
  const claims: ResourceClaim[] = [];
  for (const { name, resourceClaimName } of pod.spec?.resourceClaims ?? []) {
    const made = pod.status?.resourceClaimStatuses?.find((one) => one.name === name);
    const claimName = resourceClaimName ?? made?.resourceClaimName;
    if (claimName === undefined) {
      // The template's claim was not needed.
      if (made !== undefined) continue;
      const reason = `waiting for dynamic resource controller to create the resourceclaim for pod ${pod.metadata.namespace}/${pod.metadata.name}`;
      return { code: 'pending', plugin: NAME, reasons: [reason] };
    }
    const claim = resourceClaim(pod.metadata.namespace ?? '', claimName);
    if (claim === undefined) return unresolvable(NAME, `resourceclaim "${claimName}" not found`);
    claims.push(claim);
  }
  return { claims };
}

function refuse(claims: readonly ResourceClaim[], pod: Pod): string | undefined {
  for (const { metadata, status } of claims) {
    if (metadata.deletionTimestamp !== undefined) return `resourceclaim "${metadata.name}" is being deleted`;
    if (status?.allocation === undefined)
      return `resourceclaim "${metadata.name}" is not allocated, and this scheduler allocates no devices`;
    const consumers = status.reservedFor ?? [];
    if (consumers.length >= MAX_CONSUMERS && !consumers.some(({ uid }) => uid === pod.metadata.uid))
      return 'resourceclaim in use';
  }
  return undefined;
}

async function reserveFor(
  { client }: DynamicResourcesDeps,
  { claim, pod }: { claim: ResourceClaim; pod: Pod },
  signal: AbortSignal,
): Promise<void> {
  const { name = '', namespace = '', uid, resourceVersion } = claim.metadata;
  const reservedFor = claim.status?.reservedFor ?? [];
  if (reservedFor.some((consumer) => consumer.uid === pod.metadata.uid)) return;
  const consumer = { resource: 'pods', name: pod.metadata.name ?? '', uid: pod.metadata.uid ?? '' };
  const patch = { metadata: { uid, resourceVersion }, status: { reservedFor: [...reservedFor, consumer] } };
  await client
    .resource(ResourceClaims)
    .patch({ namespace, name }, { type: 'merge', patch }, { subresource: 'status', signal });
}
