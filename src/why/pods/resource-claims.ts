/** Explains resource claims of a pod without devices: the claim, its template, its device class or the devices are missing. */
import { DeviceClasses, ResourceClaims, ResourceClaimTemplates, ResourceSlices } from '../../api/gen/resources.ts';
import type { Pod, PodResourceClaim } from '../../api/gen/core-v1.ts';
import type { ResourceClaim } from '../../api/gen/resource-v1.ts';
import { appendAll } from '../../base/lists.ts';
import { claimNameOf } from '../../component-helpers/resource-claims.ts';
import type { Evidence } from '../evidence.ts';
import { cause, type Cause } from '../explanation.ts';
import { nameOf, nameOfObject } from '../object-name.ts';

export async function resourceClaimCauses(pod: Pod, evidence: Evidence): Promise<readonly Cause[]> {
  const causes: Cause[] = [];
  for (const one of pod.spec?.resourceClaims ?? []) appendAll(causes, await causesOf(pod, one, evidence));
  return causes;
}

async function causesOf(pod: Pod, podClaim: PodResourceClaim, evidence: Evidence): Promise<readonly Cause[]> {
  const { namespace = '' } = pod.metadata;
  const name = claimNameOf(pod, podClaim);
  if (name === undefined) return templateCauses(namespace, podClaim.resourceClaimTemplateName ?? '', evidence);
  const { object: claim, missing } = await evidence.get(ResourceClaims, { namespace, name });
  if (missing)
    return [
      cause({
        code: 'ResourceClaimMissing',
        object: nameOf(ResourceClaims, { namespace, name }),
        message: `resource claim ${name} does not exist`,
        cure: { text: `create resource claim ${name} in namespace ${namespace}` },
      }),
    ];
  return claim === undefined || claim.status?.allocation !== undefined ? [] : deviceCauses(claim, evidence);
}

async function templateCauses(namespace: string, name: string, evidence: Evidence): Promise<readonly Cause[]> {
  const { missing } = await evidence.get(ResourceClaimTemplates, { namespace, name });
  if (!missing) return [];
  return [
    cause({
      code: 'ResourceClaimTemplateMissing',
      object: nameOf(ResourceClaimTemplates, { namespace, name }),
      message: `resource claim template ${name} does not exist`,
      cure: { text: `create resource claim template ${name} in namespace ${namespace}` },
    }),
  ];
}

/** Missing device classes; when all exist, whether there are any devices. */
async function deviceCauses(claim: ResourceClaim, evidence: Evidence): Promise<readonly Cause[]> {
  const requests = claim.spec?.devices?.requests ?? [];
  const classes = requests.flatMap(({ exactly, firstAvailable = [] }) =>
    (exactly === undefined ? firstAvailable : [exactly]).map(({ deviceClassName }) => deviceClassName),
  );
  const causes: Cause[] = [];
  for (const name of new Set(classes)) {
    if (!(await evidence.get(DeviceClasses, { name })).missing) continue;
    const message = `device class ${name}, of which resource claim ${claim.metadata.name} asks for devices, does not exist`;
    const cure = { text: `install the driver that brings device class ${name}`, command: 'kubectl get deviceclasses' };
    causes.push(cause({ code: 'DeviceClassMissing', object: nameOf(DeviceClasses, { name }), message, cure }));
  }
  if (causes.length > 0 || (await evidence.listed(ResourceSlices))?.length !== 0) return causes;
  return [
    cause({
      code: 'NoDevices',
      object: nameOfObject(ResourceClaims, claim),
      message: 'no driver offers any devices: there is no resource slice',
      cure: { text: 'see whether the driver of the devices runs on the nodes', command: 'kubectl get resourceslices' },
    }),
  ];
}
