/** Warnings of kinds with one warning each. Upstream: WarningsOnCreate and WarningsOnUpdate of their strategies. */
import { quote } from '../../base/go-quote.ts';
import type { ServiceAccount } from '../gen/core-v1.ts';
import type { RuntimeClass } from '../gen/node-v1.ts';
import type { ResourceSlice } from '../gen/resource-v1.ts';
import type { KubernetesObject } from '../object.ts';
import { deprecatedNodeLabel } from './node-labels.ts';

const MOUNTABLE_SECRETS = 'kubernetes.io/enforce-mountable-secrets';

export function serviceAccountWarnings({ metadata }: ServiceAccount, old: ServiceAccount | undefined): string[] {
  const isNew = old?.metadata.annotations?.[MOUNTABLE_SECRETS] === undefined;
  if (!isNew || metadata.annotations?.[MOUNTABLE_SECRETS] === undefined) return [];
  const instead = 'prefer separate namespaces to isolate access to mounted secrets';
  return [`metadata.annotations[${MOUNTABLE_SECRETS}]: deprecated in v1.32+; ${instead}`];
}

export function runtimeClassWarnings({ scheduling }: RuntimeClass): string[] {
  return Object.keys(scheduling?.nodeSelector ?? {}).flatMap((label) => {
    const text = deprecatedNodeLabel(label);
    return text === undefined ? [] : [`scheduling.nodeSelector: ${text}`];
  });
}

/** All versions of a slice have the driver at the same path; they differ only in their devices. */
export function resourceSliceWarnings(slice: KubernetesObject): string[] {
  const { driver = '' } = (slice as Partial<ResourceSlice>).spec ?? {};
  if (driver === driver.toLowerCase()) return [];
  return [`spec.driver: driver names should be lowercase; ${quote(driver)} contains uppercase characters`];
}
