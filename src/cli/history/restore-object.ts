/** Restores one object to an earlier state, with the caller's own permissions. */
import { stringifyYaml } from '../../api/codec/yaml-writer.ts';
import type { OwnerReference } from '../../api/gen/meta-v1.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { ignoreNotFound } from '../../api/status-error.ts';
import { UserError } from '../usage-error.ts';
import { getObjectAt } from './get-history.ts';
import { objectDiff, withoutStatus } from './compare.ts';
import type { NamedObject } from './connect.ts';
import { asNew, overPresent } from './restored-object.ts';

const FIELD_MANAGER = 'keelson-restore';

/** Describes what was done, or with `dryRun` what would be. Rejects with the server's refusal. */
export async function restoreObject(
  object: NamedObject,
  { to, dryRun }: { readonly to: string; readonly dryRun: boolean },
): Promise<string> {
  const { client, info, key } = object;
  const past = (await getObjectAt(object, to)).object;
  const present = await client.resource(info).get(key).catch(ignoreNotFound);
  const name = `${info.singular}/${key.name}`;
  const suffix = dryRun ? ' (dry run)' : '';
  const options = { fieldManager: FIELD_MANAGER, dryRun };
  if (present === undefined) {
    const owners = await livingOwners(object, past);
    const made = await client.resource(info).create(asNew(past, owners), options);
    const left = (past.metadata.ownerReferences ?? []).filter(({ uid }) => !owners.some((owner) => owner.uid === uid));
    const notes = left.map(({ kind, name: owner }) => `its owner ${kind}/${owner} is gone and was left out\n`).join('');
    return `${dryRun ? stringifyYaml(made) : ''}${name} created as it was at revision ${past.metadata.resourceVersion}${suffix}\n${notes}`;
  }
  if (present.metadata.deletionTimestamp !== undefined)
    throw new UserError(`${name} is being deleted: it can be restored once it is gone`);
  const updated = await client.resource(info).update(overPresent(past, present), options);
  const diff = objectDiff(withoutStatus(present), withoutStatus(updated), dryRun ? 'as restored (dry run)' : undefined);
  if (diff === '') return `${name} is as it was at revision ${past.metadata.resourceVersion}: nothing to do\n`;
  return `${diff}${name} restored to revision ${past.metadata.resourceVersion}${suffix}\n`;
}

/** The owners that still exist with the same uid: an object without existing owners would be collected at once. */
async function livingOwners(
  { client, resources, key }: NamedObject,
  { metadata }: KubernetesObject,
): Promise<readonly OwnerReference[]> {
  const living: OwnerReference[] = [];
  for (const owner of metadata.ownerReferences ?? []) {
    const group = owner.apiVersion.includes('/') ? owner.apiVersion.split('/')[0] : '';
    const info = resources.find((one) => one.kind === owner.kind && one.group === group);
    if (info === undefined) continue;
    const { name } = owner;
    const ownerKey = info.namespaced && key.namespace !== undefined ? { namespace: key.namespace, name } : { name };
    const found = await client.resource(info).get(ownerKey).catch(ignoreNotFound);
    if (found?.metadata.uid === owner.uid) living.push(owner);
  }
  return living;
}
