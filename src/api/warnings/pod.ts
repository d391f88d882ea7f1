/** Warnings about a pod or a pod template. Upstream: pkg/api/pod GetWarningsForPod. */
import { quote } from '../../base/go-quote.ts';
import type { Pod, PodSpec, PodTemplateSpec, Volume } from '../gen/core-v1.ts';
import { isDns1123Label } from '../names.ts';
import { fractionWarnings } from './fractions.ts';
import { ipWarnings } from './ip-formats.ts';
import { containerWarnings, placedContainers, type PodParts, podSeccompWarnings } from './pod-containers.ts';
import { volumePathWarnings } from './pod-paths.ts';
import { portWarnings } from './pod-ports.ts';
import { nodeChoiceWarnings, podAffinityWarnings } from './pod-scheduling.ts';
import { claimSpecWarnings } from './volumes.ts';

const DEPRECATED_ANNOTATIONS = {
  'scheduler.alpha.kubernetes.io/critical-pod': 'non-functional in v1.16+; use the "priorityClassName" field instead',
  'security.alpha.kubernetes.io/sysctls': 'non-functional in v1.11+; use the "sysctls" field instead',
  'security.alpha.kubernetes.io/unsafe-sysctls': 'non-functional in v1.11+; use the "sysctls" field instead',
} as const;

/** Deprecated and removed volume types: the field, upstream's name, and the version. */
const DEPRECATED_VOLUMES: readonly (readonly [field: keyof Volume, name: string, text: string])[] = [
  ['photonPersistentDisk', 'photonPersistentDisk', 'deprecated in v1.11, non-functional in v1.16+'],
  ['gitRepo', 'gitRepo', 'deprecated in v1.11, and disabled by default in v1.33+'],
  ['scaleIO', 'scaleIO', 'deprecated in v1.16, non-functional in v1.22+'],
  ['flocker', 'flocker', 'deprecated in v1.22, non-functional in v1.25+'],
  ['storageos', 'storageOS', 'deprecated in v1.22, non-functional in v1.25+'],
  ['quobyte', 'quobyte', 'deprecated in v1.22, non-functional in v1.25+'],
  ['glusterfs', 'glusterfs', 'deprecated in v1.25, non-functional in v1.26+'],
];

const LAST_DEPRECATED_VOLUMES: typeof DEPRECATED_VOLUMES = [
  ['cephfs', 'cephfs', 'deprecated in v1.28, non-functional in v1.31+'],
  ['rbd', 'rbd', 'deprecated in v1.28, non-functional in v1.31+'],
];

function volumeWarnings(volumes: readonly Volume[], path: string): string[] {
  return volumes.flatMap((volume, index) => {
    const place = `${path}.volumes[${index}]`;
    const deprecated = (kinds: typeof DEPRECATED_VOLUMES): string[] =>
      kinds.flatMap(([field, name, text]) => (volume[field] === undefined ? [] : [`${place}.${name}: ${text}`]));
    const claim = volume.ephemeral?.volumeClaimTemplate?.spec;
    return [
      ...deprecated(DEPRECATED_VOLUMES),
      ...(claim === undefined ? [] : claimSpecWarnings(claim, `${place}.ephemeral.volumeClaimTemplate.spec`)),
      ...deprecated(LAST_DEPRECATED_VOLUMES),
    ];
  });
}

/** Warnings about repeated items of a list. */
function warningsOfRepeated(values: readonly string[], describe: (value: string, index: number) => string): string[] {
  const seen = new Set<string>();
  return values.flatMap((value, index) => {
    const isFirst = !seen.has(value);
    seen.add(value);
    return isFirst ? [] : [describe(value, index)];
  });
}

function listWarnings(spec: PodSpec, path: string): string[] {
  const secrets = (spec.imagePullSecrets ?? []).map(({ name = '' }) => name);
  const addresses = (spec.hostAliases ?? []).map(({ ip }) => ip);
  return [
    ...warningsOfRepeated(addresses, (ip, index) => `${path}.hostAliases[${index}].ip: duplicate ip ${quote(ip)}`),
    ...warningsOfRepeated(
      secrets,
      (name, index) => `${path}.imagePullSecrets[${index}].name: duplicate name ${quote(name)}`,
    ),
    ...secrets.flatMap((name, index) =>
      name === '' ? [`${path}.imagePullSecrets[${index}].name: invalid empty name ""`] : [],
    ),
    ...['memory', 'ephemeral-storage'].flatMap((name) =>
      fractionWarnings(spec.overhead?.[name], `${path}.overhead[${name}]`),
    ),
  ];
}

/** The limit of addresses that are checked; a response has room for some forty warnings. */
const MAX_ALIASES = 2000;

function addressWarnings(spec: PodSpec, path: string): string[] {
  return [
    ...(spec.dnsConfig?.nameservers ?? []).flatMap((server, index) =>
      ipWarnings(server, `${path}.dnsConfig.nameservers[${index}]`),
    ),
    ...(spec.hostAliases ?? [])
      .slice(0, MAX_ALIASES)
      .flatMap(({ ip }, index) => ipWarnings(ip, `${path}.hostAliases[${index}].ip`)),
  ];
}

function warningsOf(pod: PodParts): string[] {
  const { spec, metadata, specPath: path, metadataPath } = pod;
  const containers = placedContainers(spec, path);
  const annotations = Object.entries(DEPRECATED_ANNOTATIONS).filter(
    ([key]) => metadata.annotations?.[key] !== undefined,
  );
  const grace = spec.terminationGracePeriodSeconds;
  return [
    ...nodeChoiceWarnings(spec, path),
    ...annotations.map(([key, text]) => `${metadataPath}.annotations[${key}]: ${text}`),
    ...volumeWarnings(spec.volumes ?? [], path),
    ...volumePathWarnings(spec.volumes ?? []),
    ...listWarnings(spec, path),
    ...podSeccompWarnings(pod),
    ...containerWarnings(pod, containers),
    ...portWarnings(containers),
    ...(grace !== undefined && Number(grace) < 0
      ? [`${path}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1`]
      : []),
    ...podAffinityWarnings(spec, path),
    ...addressWarnings(spec, path),
  ];
}

/** Warnings about a name that is no DNS label and becomes the name of a pod, or a part of it. */
export function podNameWarnings(name = '', use = 'Pod names and hostnames'): string[] {
  const problems = isDns1123Label(name);
  if (problems.length === 0) return [];
  const effect = 'which can result in surprising behavior; a DNS label is recommended';
  return [`metadata.name: this is used in ${use}, ${effect}: [${problems.join(' ')}]`];
}

export function podWarnings({ metadata, spec }: Pod): string[] {
  if (spec === undefined) return [];
  const parts = { spec, metadata, specPath: 'spec', metadataPath: 'metadata', isTemplate: false };
  return [...podNameWarnings(metadata.name, "the Pod's hostname"), ...warningsOf(parts)];
}

/** Warnings about a template at `path`. */
export function podTemplateWarnings(template: PodTemplateSpec | undefined, path: string): string[] {
  const { spec, metadata = {} } = template ?? {};
  if (spec === undefined) return [];
  return warningsOf({
    spec,
    metadata,
    specPath: `${path}.spec`,
    metadataPath: `${path}.metadata`,
    isTemplate: true,
  });
}
