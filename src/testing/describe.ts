/** What an object, its events and its pods looked like: the message of a failed wait. */
import { Events, Nodes, Pods, ReplicaSets } from '../api/gen/resources.ts';
import type { Event, Pod } from '../api/gen/core-v1.ts';
import type { KubernetesObject } from '../api/object.ts';
import { podWhyText, type ExplainPod } from '../component-helpers/pod-why.ts';
import type { ObjectStore } from '../apiserver/registry/object-store.ts';
import { referenceText, type ResolvedReference } from './references.ts';

const MAX_PODS = 5;
const MAX_EXPLAINED = 2;
const MAX_EVENTS = 15;

/** Text about one object as it is now: once it is shown, objects may have changed. */
export async function describeObject(
  objects: ObjectStore,
  reference: ResolvedReference,
  why?: ExplainPod,
): Promise<string> {
  const object = objects.get(reference.info, reference.namespace, reference.name);
  if (object === undefined) return `${referenceText(reference)} does not exist\n${describeNodes(objects)}`;
  const { managedFields: _, ...metadata } = object.metadata;
  const { status } = object as { status?: object };
  const shown = {
    metadata: pick(metadata, [
      'generation',
      'resourceVersion',
      'creationTimestamp',
      'deletionTimestamp',
      'finalizers',
      'ownerReferences',
    ]),
    status,
  };
  const pods = podsOf(objects, object);
  const related = new Set([object.metadata.uid, ...pods.map((pod) => pod.metadata.uid)]);
  const rest = [
    ...(pods.length === 0
      ? []
      : [`pods (${pods.length}):`, ...pods.slice(0, MAX_PODS).map((pod) => indent(describePod(pod)))]),
    ...describeWaiting(pods, why),
    ...describeEvents(eventsAbout(objects, related)),
    describeNodes(objects),
  ];
  // Loaded here: most tests never need it.
  const { stringifyYaml } = await import('../api/codec/yaml.ts');
  return [referenceText(reference), indent(stringifyYaml(shown)), ...rest].join('\n');
}

function pick(object: object, names: readonly string[]): object {
  return Object.fromEntries(Object.entries(object).filter(([name]) => names.includes(name)));
}

/** Pods an object stands behind: itself, or those owned by it, directly or through its replica sets. */
function podsOf(objects: ObjectStore, object: KubernetesObject): readonly Pod[] {
  if (object.kind === 'Pod' || (object as Pod).spec?.containers !== undefined) return [object as Pod];
  const owners = new Set([object.metadata.uid]);
  const ownedBy = (candidate: KubernetesObject): boolean =>
    candidate.metadata.ownerReferences?.some(({ uid }) => owners.has(uid)) === true;
  for (const set of objects.list(ReplicaSets)) if (ownedBy(set)) owners.add(set.metadata.uid);
  return objects.list(Pods).filter(ownedBy);
}

function describePod({ metadata, spec, status }: Pod): string {
  const conditions = (status?.conditions ?? []).filter(({ status: holds }) => holds !== 'True');
  const containers = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return [
    `${metadata.name}: ${status?.phase ?? 'no status'}${metadata.deletionTimestamp === undefined ? '' : ', terminating'} on ${spec?.nodeName ?? 'no node'}`,
    ...conditions.map(({ type, status: holds, reason = '', message = '' }) =>
      `  ${type}=${holds} ${reason} ${message}`.trimEnd(),
    ),
    ...containers.map(
      ({ name, ready, restartCount, state }) =>
        `  container ${name}: ready=${ready} restarts=${restartCount} ${JSON.stringify(state)}`,
    ),
  ].join('\n');
}

/** Of pods without a node: why the scheduler finds none. */
function describeWaiting(pods: readonly Pod[], why: ExplainPod | undefined): string[] {
  const waiting = pods.filter(({ spec, status }) => spec?.nodeName === undefined && status?.phase !== 'Failed');
  return waiting.slice(0, MAX_EXPLAINED).flatMap(({ metadata }) => {
    const answer = why?.(metadata.namespace ?? '', metadata.name ?? '');
    return answer === undefined ? [] : ['why:', indent(podWhyText(answer))];
  });
}

function eventsAbout(objects: ObjectStore, uids: ReadonlySet<string | undefined>): readonly Event[] {
  return sortedEvents(objects.list(Events).filter(({ involvedObject }) => uids.has(involvedObject.uid)));
}

function describeEvents(events: readonly Event[]): string[] {
  if (events.length === 0) return ['events: none'];
  return ['events:', ...events.slice(-MAX_EVENTS).map((event) => `  ${formatEvent(event)}`)];
}

/** In the order they last happened. */
export function sortedEvents(events: readonly Event[]): readonly Event[] {
  const timeOf = (event: Event): string =>
    event.lastTimestamp ?? event.eventTime ?? event.metadata.creationTimestamp ?? '';
  return events.toSorted(
    (a, b) =>
      timeOf(a).localeCompare(timeOf(b)) || Number(a.metadata.resourceVersion) - Number(b.metadata.resourceVersion),
  );
}

/** One event in one line. */
export function formatEvent({
  type,
  reason,
  message,
  count = 1,
  involvedObject,
  lastTimestamp,
  eventTime,
}: Event): string {
  return `${lastTimestamp ?? eventTime ?? ''} ${type} ${reason} ${involvedObject.kind}/${involvedObject.name}${count > 1 ? ` (x${count})` : ''}: ${message}`;
}

function describeNodes(objects: ObjectStore): string {
  const nodes = objects.list(Nodes).map(({ metadata, spec, status }) => {
    const ready = status?.conditions?.find(({ type }) => type === 'Ready')?.status ?? 'Unknown';
    const taints = spec?.taints?.map(({ key, effect }) => ` ${key}:${effect}`).join('') ?? '';
    return `${metadata.name} Ready=${ready}${taints}`;
  });
  return `nodes: ${nodes.slice(0, 10).join(', ') || 'none'}${nodes.length > 10 ? `, and ${nodes.length - 10} more` : ''}`;
}

function indent(text: string): string {
  return text.trimEnd().replace(/^/gm, '  ');
}
