/** The checks of level restricted beyond the baseline, sorted by upstream's names. Upstream: pod-security-admission/policy/check_*.go. */
import type { Volume } from '../../../api/gen/core-v1.ts';
import {
  type Check,
  type CheckedPod,
  containersText,
  distinct,
  isWindows,
  namesOf,
  plural,
  quoted,
  settersText,
  type Violation,
} from './check.ts';
import { forbiddenProcMount } from './proc-mount.ts';

function allowPrivilegeEscalation(pod: CheckedPod): Violation | undefined {
  const names = namesOf(pod, (c) => c.securityContext?.allowPrivilegeEscalation !== false);
  if (names.length === 0) return undefined;
  const detail = `${containersText(names)} must set securityContext.allowPrivilegeEscalation=false`;
  return { reason: 'allowPrivilegeEscalation != false', detail };
}

function capabilities(pod: CheckedPod): Violation | undefined {
  const extra = (added: readonly string[] = []): string[] => added.filter((one) => one !== 'NET_BIND_SERVICE');
  const keeping = namesOf(pod, (c) => !(c.securityContext?.capabilities?.drop ?? []).includes('ALL'));
  const adding = namesOf(pod, (c) => extra(c.securityContext?.capabilities?.add).length > 0);
  const added = distinct(pod.containers.flatMap((c) => extra(c.securityContext?.capabilities?.add)));
  const details = [
    ...(keeping.length > 0 ? [`${containersText(keeping)} must set securityContext.capabilities.drop=["ALL"]`] : []),
    ...(adding.length > 0
      ? [`${containersText(adding)} must not include ${quoted(added)} in securityContext.capabilities.add`]
      : []),
  ];
  return details.length === 0 ? undefined : { reason: 'unrestricted capabilities', detail: details.join('; ') };
}

const ALLOWED_VOLUMES = new Set([
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'image',
  'persistentVolumeClaim',
  'projected',
  'secret',
]);

/** The type of a volume: its one field beside the name. */
function volumeType({ name: _name, ...source }: Volume): string {
  return Object.entries(source).find(([, value]) => value !== undefined)?.[0] ?? 'unknown';
}

function restrictedVolumes({ spec }: CheckedPod): Violation | undefined {
  const bad = (spec.volumes ?? []).filter((volume) => !ALLOWED_VOLUMES.has(volumeType(volume)));
  if (bad.length === 0) return undefined;
  const types = distinct(bad.map(volumeType));
  const volumes = `${plural(bad.length, 'volume', 'volumes')} ${quoted(bad.map(({ name }) => name))}`;
  const uses = `${plural(bad.length, 'uses', 'use')} restricted volume ${plural(types.length, 'type', 'types')}`;
  return { reason: 'restricted volume types', detail: `${volumes} ${uses} ${quoted(types)}` };
}

function runAsNonRoot(pod: CheckedPod): Violation | undefined {
  const ofPod = pod.spec.securityContext?.runAsNonRoot;
  const explicit = namesOf(pod, (c) => c.securityContext?.runAsNonRoot === false);
  const reason = 'runAsNonRoot != true';
  if (ofPod === false || explicit.length > 0)
    return {
      reason,
      detail: `${settersText(ofPod === false, explicit)} must not set securityContext.runAsNonRoot=false`,
    };
  const silent = namesOf(pod, (c) => c.securityContext?.runAsNonRoot === undefined);
  if (ofPod === true || silent.length === 0) return undefined;
  return { reason, detail: `pod or ${containersText(silent)} must set securityContext.runAsNonRoot=true` };
}

function runAsUser(pod: CheckedPod): Violation | undefined {
  const ofPod = pod.spec.securityContext?.runAsUser === 0;
  const names = namesOf(pod, (c) => c.securityContext?.runAsUser === 0);
  if (!ofPod && names.length === 0) return undefined;
  return { reason: 'runAsUser=0', detail: `${settersText(ofPod, names)} must not set runAsUser=0` };
}

function seccomp(pod: CheckedPod): Violation | undefined {
  const isGood = (type: string | undefined): boolean => type === 'RuntimeDefault' || type === 'Localhost';
  const isBad = (type: string | undefined): boolean => type !== undefined && !isGood(type);
  const ofPod = pod.spec.securityContext?.seccompProfile?.type;
  const explicit = namesOf(pod, (c) => isBad(c.securityContext?.seccompProfile?.type));
  const reason = 'seccompProfile';
  const field = 'securityContext.seccompProfile.type';
  if (isBad(ofPod) || explicit.length > 0) {
    const values = [ofPod, ...pod.containers.map((c) => c.securityContext?.seccompProfile?.type)].filter(
      isBad,
    ) as string[];
    return {
      reason,
      detail: `${settersText(isBad(ofPod), explicit)} must not set ${field} to ${quoted(distinct(values))}`,
    };
  }
  const silent = namesOf(pod, (c) => c.securityContext?.seccompProfile?.type === undefined);
  if (isGood(ofPod) || silent.length === 0) return undefined;
  return { reason, detail: `pod or ${containersText(silent)} must set ${field} to "RuntimeDefault" or "Localhost"` };
}

type Run = Check['run'];

/** Skips pods for Windows, since version 1.25. */
function onLinux(run: Run): Run {
  return (pod, minor) => (minor >= 25 && isWindows(pod) ? undefined : run(pod, minor));
}

/** Skips pods in user namespaces, since version 1.35: their root has no privileges outside. */
function outsideUserNamespaces(run: Run): Run {
  return (pod, minor) => (minor >= 35 && pod.spec.hostUsers === false ? undefined : run(pod, minor));
}

/** Level restricted. */
export const restrictedChecks: readonly Check[] = [
  { id: 'allowPrivilegeEscalation', since: 8, run: onLinux(allowPrivilegeEscalation) },
  { id: 'capabilities_restricted', since: 22, overrides: ['capabilities_baseline'], run: onLinux(capabilities) },
  { id: 'procMount_restricted', since: 35, overrides: ['procMount'], run: forbiddenProcMount },
  { id: 'restrictedVolumes', since: 0, overrides: ['hostPathVolumes'], run: restrictedVolumes },
  { id: 'runAsNonRoot', since: 0, run: outsideUserNamespaces(runAsNonRoot) },
  { id: 'runAsUser', since: 23, run: outsideUserNamespaces(runAsUser) },
  { id: 'seccompProfile_restricted', since: 19, overrides: ['seccompProfile_baseline'], run: onLinux(seccomp) },
];
