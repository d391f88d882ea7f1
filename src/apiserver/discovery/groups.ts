/** Groups and versions in upstream's order of preference. Upstream: the aggregator's group priorities. */
import type { APIResourceDiscovery } from '../../api/gen/apidiscovery-v2.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import { compareTexts } from '../../base/compare-texts.ts';
import { compareGroups } from './group-priorities.ts';

/** One version of a group with its resources. */
export interface VersionEntry {
  readonly version: string;
  readonly resources: readonly ResourceInfo[];
  /** Set where it is not the registry's: ready for the aggregated document. */
  readonly foreign?: ForeignVersion;
}

/** A group version that is not the registry's: another server's, or computed. */
export interface ForeignVersion {
  readonly group: string;
  readonly version: string;
  readonly resources: readonly APIResourceDiscovery[];
  /** Its server is not reached now: the resources are those it had. */
  readonly stale: boolean;
}

/** One group; versions by preference. */
export interface GroupEntry {
  readonly group: string;
  readonly versions: readonly VersionEntry[];
}

function parseVersion(version: string): readonly [number, number, number] {
  const match = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version);
  if (match === null) return [-1, 0, 0];
  const stage = match[2] === undefined ? 2 : match[2] === 'beta' ? 1 : 0;
  return [stage, Number(match[1]), Number(match[3] ?? 0)];
}

/** Kube-aware order: stable before beta before alpha, then the higher number first. */
export function compareVersions(a: string, b: string): number {
  const [x, y] = [parseVersion(a), parseVersion(b)];
  for (const index of [0, 1, 2] as const) if (x[index] !== y[index]) return y[index] - x[index];
  return compareTexts(a, b);
}

/** Groups what is served; the core group ('') first. A foreign version takes the place of the registry's. */
export function groupResources(infos: Iterable<ResourceInfo>, foreign: readonly ForeignVersion[] = []): GroupEntry[] {
  const groups = new Map<string, Map<string, ResourceInfo[]>>();
  for (const info of infos) {
    const versions = groups.get(info.group) ?? new Map<string, ResourceInfo[]>();
    groups.set(info.group, versions);
    const resources = versions.get(info.version) ?? [];
    versions.set(info.version, resources);
    resources.push(info);
  }
  for (const { group, version } of foreign) groups.set(group, (groups.get(group) ?? new Map()).set(version, []));
  const foreignOf = (group: string, version: string): Pick<VersionEntry, 'foreign'> => {
    const foreignVersion = foreign.find((one) => one.group === group && one.version === version);
    return foreignVersion === undefined ? {} : { foreign: foreignVersion };
  };
  const entries = [...groups].map(([group, versions]) => ({
    group,
    versions: [...versions]
      .map(([version, resources]) => ({
        version,
        resources: resources.toSorted((a, b) => (a.resource < b.resource ? -1 : 1)),
        ...foreignOf(group, version),
      }))
      .sort((a, b) => compareVersions(a.version, b.version)),
  }));
  return entries.sort((a, b) => {
    if (a.group === '' || b.group === '') return a.group === '' ? -1 : 1;
    return compareGroups(a.group, b.group);
  });
}
