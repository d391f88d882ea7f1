/** Describes an object, its events and its pods for the error of a failed wait. */
import { allResources, Events, Nodes } from '../api/gen/resources.ts';
import type { Event, Pod } from '../api/gen/core-v1.ts';
import type { KubernetesObject } from '../api/object.ts';
import { parseTime } from '../api/time.ts';
import { errorMessage } from '../base/errors.ts';
import { nearestName } from '../base/nearest-name.ts';
import type { ObjectStore } from '../apiserver/registry/object-store.ts';
import type { Client } from '../client/client.ts';
import { customKinds } from './custom-kinds.ts';
import { describeLogs, describePod } from './describe-pod.ts';
import { ownedObjects, type OwnedObject } from './owned-objects.ts';
import { referenceText, type ResolvedReference } from './references.ts';

const MAX_PODS = 5;
const MAX_OWNED = 15;
const MAX_EXPLAINED = 3;
const MAX_EVENTS = 15;

export interface ReportDeps {
  readonly objects: ObjectStore;
  readonly client: Client;
  /** The object's explanation as text. */
  readonly explain: (reference: ResolvedReference) => Promise<string>;
}

/** Describes the current state of one object. */
export async function describeObject(deps: ReportDeps, reference: ResolvedReference): Promise<string> {
  const { objects, client } = deps;
  const object = objects.get(reference.info, reference.namespace, reference.name);
  if (object === undefined)
    return [
      `${referenceText(reference)} does not exist${othersOf(objects, reference)}`,
      ...describeEvents(
        sortedEvents(
          objects
            .list(Events)
            .filter(({ involvedObject: { kind, name } }) => kind === reference.info.kind && name === reference.name),
        ),
      ),
      describeNodes(objects),
    ].join('\n');
  const owned = ownedObjects(objects, object, customKinds(objects));
  const isPod = (candidate: OwnedObject): boolean => candidate.info.kind === 'Pod';
  const pods = [
    ...(reference.info.kind === 'Pod' ? [object as Pod] : []),
    ...owned.filter(isPod).map((each) => each.object as Pod),
  ];
  const related = new Set([object.metadata.uid, ...owned.map((each) => each.object.metadata.uid)]);
  return [
    referenceText(reference),
    indent(await yamlOf(object, reference)),
    ...section('why', await explanations(deps, reference, owned)),
    ...describeOwned(owned.filter((each) => !isPod(each))),
    ...(pods.length === 0 ? [] : [`pods (${pods.length}):`]),
    ...worstFirst(pods)
      .slice(0, MAX_PODS)
      .map((pod) => indent(describePod(pod))),
    ...(await describeLogs(worstFirst(pods), client)),
    ...describeEvents(eventsAbout(objects, related)),
    describeNodes(objects),
  ].join('\n');
}

/**
 * The object as YAML. The spec of a built-in kind is omitted, because the test has written it; that of a custom kind is shown.
 */
async function yamlOf(object: KubernetesObject, reference: ResolvedReference): Promise<string> {
  const { spec, status } = object as { spec?: object; status?: object };
  const shown = {
    metadata: pick(object.metadata, [
      'generation',
      'resourceVersion',
      'creationTimestamp',
      'deletionTimestamp',
      'finalizers',
      'ownerReferences',
    ]),
    spec: isBuiltIn(reference) ? undefined : spec,
    status,
  };
  // Loaded here because most tests do not need it.
  const { stringifyYaml } = await import('../api/codec/yaml-writer.ts');
  return stringifyYaml(shown);
}

function pick(object: object, names: readonly string[]): object {
  return Object.fromEntries(Object.entries(object).filter(([name]) => names.includes(name)));
}

function section(head: string, text: string): string[] {
  return text === '' ? [] : [`${head}:`, indent(text)];
}

/** The explanation of the object or, for a custom kind, of the objects that it owns. */
async function explanations(
  { explain }: ReportDeps,
  reference: ResolvedReference,
  owned: readonly OwnedObject[],
): Promise<string> {
  const behind = isBuiltIn(reference) ? [] : owned.filter(({ depth }) => depth === 1).slice(0, MAX_EXPLAINED);
  const names = behind.map(({ info, object: { metadata } }) => ({
    info: info as ResolvedReference['info'],
    namespace: metadata.namespace ?? '',
    name: String(metadata.name),
  }));
  const texts: string[] = [];
  for (const name of [reference, ...names])
    texts.push((await explain(name).catch((error: unknown) => `not known: ${errorMessage(error)}`)).trimEnd());
  return texts.join('\n');
}

function isBuiltIn({ info }: ResolvedReference): boolean {
  return allResources.some((known) => known === info);
}

/** Objects with a similar name, when the object does not exist. */
function othersOf(objects: ObjectStore, { info, namespace, name }: ResolvedReference): string {
  const others = objects.list(info).map(({ metadata }) => metadata);
  if (others.length === 0) return `; there is no ${info.singular} at all`;
  const elsewhere = others.find((other) => other.name === name);
  if (elsewhere !== undefined) return `; there is one in the namespace ${elsewhere.namespace}`;
  const here = others.filter((other) => (other.namespace ?? '') === namespace).map((other) => other.name ?? '');
  const near = nearestName(name, here);
  if (near !== undefined) return `; did you mean ${near}?`;
  return here.length === 0 ? '' : `; there are: ${here.slice(0, 10).join(', ')}${here.length > 10 ? ', …' : ''}`;
}

function describeOwned(owned: readonly OwnedObject[]): string[] {
  if (owned.length === 0) return [];
  const lines = owned
    .slice(0, MAX_OWNED)
    .map(
      ({ info, object, depth }) => `${'  '.repeat(depth)}${info.singular}/${object.metadata.name}${summaryOf(object)}`,
    );
  const more = owned.length > MAX_OWNED ? [`  and ${owned.length - MAX_OWNED} more`] : [];
  return ['owns:', ...lines, ...more];
}

/** Replicas, phase, and conditions that are not met. */
function summaryOf(object: KubernetesObject): string {
  const { spec, status, metadata } = object as KubernetesObject & {
    spec?: { replicas?: number };
    status?: {
      phase?: string;
      readyReplicas?: number;
      conditions?: readonly { type: string; status: string; reason?: string; message?: string }[];
    };
  };
  const conditions = (status?.conditions ?? []).filter(
    ({ type, status: holds }) => (holds !== 'True') !== /Failure|Pressure|Failed/.test(type),
  );
  return [
    metadata.deletionTimestamp === undefined ? '' : ' is being deleted',
    spec?.replicas === undefined ? '' : ` ${status?.readyReplicas ?? 0}/${spec.replicas} ready`,
    status?.phase === undefined ? '' : ` ${status.phase}`,
    ...conditions.map(({ type, status: holds, reason = '', message = '' }) =>
      `, ${type}=${holds} ${reason} ${message}`.trimEnd(),
    ),
  ].join('');
}

/** Sorts pods by the length of their description: healthy ones have the shortest. */
function worstFirst(pods: readonly Pod[]): readonly Pod[] {
  const isReady = ({ status }: Pod): number =>
    status?.conditions?.some(({ type, status: holds }) => type === 'Ready' && holds === 'True') === true ? 1 : 0;
  return pods.toSorted((a, b) => isReady(a) - isReady(b));
}

function eventsAbout(objects: ObjectStore, uids: ReadonlySet<string | undefined>): readonly Event[] {
  return sortedEvents(objects.list(Events).filter(({ involvedObject }) => uids.has(involvedObject.uid)));
}

function describeEvents(events: readonly Event[]): string[] {
  if (events.length === 0) return ['events: none'];
  return ['events:', ...events.slice(-MAX_EVENTS).map((event) => `  ${formatEvent(event)}`)];
}

/** Sorts by the time of the last occurrence. */
export function sortedEvents(events: readonly Event[]): readonly Event[] {
  const timeOf = (event: Event): string =>
    event.lastTimestamp ?? event.eventTime ?? event.metadata.creationTimestamp ?? '';
  return events.toSorted(
    (a, b) =>
      timeOf(a).localeCompare(timeOf(b)) || Number(a.metadata.resourceVersion) - Number(b.metadata.resourceVersion),
  );
}

/** The time of an event's last occurrence; NaN for undefined. */
export function eventTimeMs(event: Event | undefined): number {
  return parseTime(event?.lastTimestamp ?? event?.eventTime ?? '');
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
