/** Reports config maps and secrets of a pod that do not exist, or lack a key. */
import { ConfigMaps, Secrets } from '../../api/gen/resources.ts';
import type { Container, Pod, Volume } from '../../api/gen/core-v1.ts';
import type { Evidence } from '../evidence.ts';
import { cause, type Cause } from '../explanation.ts';
import { inNamespace, nameOf } from '../object-name.ts';

/** One reference; without a key it refers to the whole object. */
export interface Mention {
  readonly kind: 'ConfigMap' | 'Secret';
  readonly name: string;
  readonly key?: string;
  readonly optional?: boolean;
  /** The place of the reference: `env DB_PASSWORD of container web`. */
  readonly place: string;
}

/** The config map that the controller manager creates in every namespace. Upstream: rootcacertpublisher. */
const ROOT_CA_MAP = 'kube-root-ca.crt';
const ROOT_CA_CURE = { text: 'see whether the controller manager runs, which makes it in every namespace' };

/** The objects that a container's environment refers to. */
export function environmentMentions({ name: container, env = [], envFrom = [] }: Container): readonly Mention[] {
  const place = (what: string): string => `${what} of container ${container}`;
  const ofKeys = env.flatMap(({ name, valueFrom }): Mention[] => {
    const { configMapKeyRef, secretKeyRef } = valueFrom ?? {};
    return [
      ...(configMapKeyRef === undefined ? [] : [mention('ConfigMap', configMapKeyRef, place(`env ${name}`))]),
      ...(secretKeyRef === undefined ? [] : [mention('Secret', secretKeyRef, place(`env ${name}`))]),
    ];
  });
  const whole = envFrom.flatMap(({ configMapRef, secretRef }): Mention[] => [
    ...(configMapRef === undefined ? [] : [mention('ConfigMap', configMapRef, place('envFrom'))]),
    ...(secretRef === undefined ? [] : [mention('Secret', secretRef, place('envFrom'))]),
  ]);
  return [...ofKeys, ...whole];
}

/** Volumes that a container mounts; the kubelet ignores others. Upstream: util.GetPodVolumeNames. */
export function usedVolumes({ spec }: Pod): readonly Volume[] {
  const containers: readonly Partial<Container>[] = [
    ...(spec?.initContainers ?? []),
    ...(spec?.containers ?? []),
    ...(spec?.ephemeralContainers ?? []),
  ];
  const mounts = containers.flatMap(({ volumeMounts = [], volumeDevices = [] }) => [...volumeMounts, ...volumeDevices]);
  const used = new Set(mounts.map(({ name }) => name));
  return (spec?.volumes ?? []).filter(({ name }) => used.has(name));
}

/** The objects that a pod's volumes refer to. */
export function volumeMentions(pod: Pod): readonly Mention[] {
  return usedVolumes(pod).flatMap(({ name: volume, configMap, secret, projected }): Mention[] => {
    const place = `volume ${volume}`;
    return [
      ...(configMap === undefined ? [] : itemMentions('ConfigMap', configMap, place)),
      ...(secret === undefined ? [] : itemMentions('Secret', { ...secret, name: secret.secretName ?? '' }, place)),
      ...(projected?.sources ?? []).flatMap(({ configMap: map, secret: source }) => [
        ...(map === undefined ? [] : itemMentions('ConfigMap', map, place)),
        ...(source === undefined ? [] : itemMentions('Secret', source, place)),
      ]),
    ];
  });
}

interface Source {
  readonly name?: string;
  readonly key?: string;
  readonly optional?: boolean;
  readonly items?: readonly { readonly key: string }[];
}

function mention(kind: Mention['kind'], { name = '', key, optional }: Source, place: string): Mention {
  return { kind, name, place, key, optional };
}

function itemMentions(kind: Mention['kind'], source: Source, place: string): readonly Mention[] {
  const items = source.items ?? [];
  if (items.length === 0) return [mention(kind, source, place)];
  return items.map(({ key }) => mention(kind, { ...source, key }, place));
}

/** A cause for each reference that cannot be resolved. */
export async function mentionCauses(
  pod: Pod,
  mentions: readonly Mention[],
  evidence: Evidence,
): Promise<readonly Cause[]> {
  const { namespace = '' } = pod.metadata;
  const causes = new Map<string, Cause>();
  for (const one of mentions) {
    if (one.optional === true || one.name === '') continue;
    const found = await missingCause(one, namespace, evidence);
    if (found !== undefined) causes.set(`${found.code} ${found.message}`, found);
  }
  return [...causes.values()];
}

async function missingCause(one: Mention, namespace: string, evidence: Evidence): Promise<Cause | undefined> {
  const { kind, name, key, place } = one;
  const info = kind === 'ConfigMap' ? ConfigMaps : Secrets;
  const { object, missing } = await evidence.get(info, { namespace, name });
  const word = kind === 'ConfigMap' ? 'config map' : 'secret';
  const at = nameOf(info, { namespace, name });
  const create = `kubectl create ${kind === 'ConfigMap' ? 'configmap' : 'secret generic'} ${name}${inNamespace(at)} --from-literal=${key ?? 'KEY'}=VALUE`;
  if (missing)
    return cause({
      code: `${kind}Missing`,
      object: at,
      message: `${word} ${name}, which ${place} needs, does not exist`,
      cure:
        name === ROOT_CA_MAP
          ? ROOT_CA_CURE
          : { text: `create ${word} ${name} in namespace ${namespace}`, command: create },
    });
  if (object === undefined || key === undefined) return undefined;
  const { data = {}, binaryData = {} } = object as { data?: object; binaryData?: object };
  if (Object.hasOwn(data, key) || Object.hasOwn(binaryData, key)) return undefined;
  const keys = [...Object.keys(data), ...Object.keys(binaryData)];
  return cause({
    code: `${kind}KeyMissing`,
    object: at,
    message: `${word} ${name} has no key ${key}, which ${place} needs`,
    facts: [keys.length === 0 ? 'it has no keys' : `its keys: ${keys.slice(0, 20).join(', ')}`],
    cure: { text: `add key ${key}`, command: `kubectl edit ${at.kind} ${name}${inNamespace(at)}` },
  });
}
