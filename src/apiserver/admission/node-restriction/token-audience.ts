/**
 * The audiences for which a node may request tokens: those that a pod's volumes name, those that its CSI drivers
 * require, and those that RBAC allows. Upstream: noderestriction, validateNodeServiceAccountAudience.
 */
import type { Pod, Volume } from '../../../api/gen/core-v1.ts';
import { CSIDrivers, PersistentVolumeClaims, PersistentVolumes } from '../../../api/gen/resources.ts';
import type { Authorizer } from '../../authz/contract.ts';
import type { ObjectStore } from '../../registry/object-store.ts';
import type { AdmissionAttributes } from '../contract.ts';

/** The audience that a node requests, and the objects that may allow it. */
export interface AudienceQuestion {
  readonly attributes: AdmissionAttributes;
  readonly audiences: readonly string[];
  readonly pod: Pod;
  readonly objects: ObjectStore;
}

/** The reason why the node may not have a token for these audiences; undefined: allowed. */
export async function audienceProblem(question: AudienceQuestion, authorizer: Authorizer): Promise<string | undefined> {
  const { attributes, audiences, pod, objects } = question;
  if (audiences.length > 1) return 'node may only request 0 or 1 audiences';
  const [audience = ''] = audiences;
  if ((pod.spec?.volumes ?? []).some((volume) => requestsAudience(volume, audience, { pod, objects })))
    return undefined;
  const { user } = attributes.context;
  const { decision } = await authorizer.authorize({
    user,
    verb: 'request-serviceaccounts-token-audience',
    isResourceRequest: true,
    apiGroup: '',
    apiVersion: 'v1',
    namespace: attributes.namespace,
    resource: audience,
    subresource: '',
    name: attributes.name,
    path: '',
  });
  if (decision === 'allow') return undefined;
  return `audience "${audience}" not found in pod spec volume, ${user.name} is not authorized to request tokens for this audience`;
}

type AudienceContext = Pick<AudienceQuestion, 'pod' | 'objects'>;

function requestsAudience(volume: Volume, audience: string, { pod, objects }: AudienceContext): boolean {
  const tokens = (volume.projected?.sources ?? []).flatMap(({ serviceAccountToken }) => serviceAccountToken ?? []);
  if (tokens.some((token) => (token.audience ?? '') === audience)) return true;
  const driver = driverOf(volume, { pod, objects });
  if (driver === undefined) return false;
  const requests = objects.get(CSIDrivers, '', driver)?.spec.tokenRequests ?? [];
  return requests.some((request) => request.audience === audience);
}

function driverOf(volume: Volume, { pod, objects }: AudienceContext): string | undefined {
  if (volume.csi !== undefined) return volume.csi.driver;
  const { name = '', namespace = '' } = pod.metadata;
  const claimName = volume.ephemeral === undefined ? volume.persistentVolumeClaim?.claimName : `${name}-${volume.name}`;
  if (claimName === undefined) return undefined;
  const volumeName = objects.get(PersistentVolumeClaims, namespace, claimName)?.spec?.volumeName ?? '';
  return objects.get(PersistentVolumes, '', volumeName)?.spec?.csi?.driver;
}
