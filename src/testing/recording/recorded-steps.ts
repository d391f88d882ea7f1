/** The steps of a scenario that repeat a client's request. Pure. */
import { isObject } from '../../api/codec/own-property.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import { allResources } from '../../api/gen/resources.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { RequestInfo } from '../../apiserver/request-context.ts';
import { repeatableName } from '../named-target.ts';
import type { ScenarioStep } from '../scenario-steps.ts';

/** A request that changed something, and its response. */
export interface Exchange {
  readonly info: Pick<RequestInfo, 'verb' | 'apiGroup' | 'resource' | 'subresource' | 'namespace' | 'name'>;
  readonly params: URLSearchParams;
  readonly contentType: string;
  /** Undefined for a request without a body. */
  readonly body: unknown;
  /** The object of the request before the change. */
  readonly target?: KubernetesObject | undefined;
  /** The object of the response; undefined when it has none. */
  readonly answer: unknown;
}

interface Manifest {
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly [field: string]: unknown;
}

type Fields = Readonly<Record<string, unknown>>;

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';
/** Fields that servers set; their values in requests have no effect. */
const SERVER_FIELDS = new Set([
  'uid',
  'resourceVersion',
  'creationTimestamp',
  'managedFields',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'generation',
  'selfLink',
]);
/** Groups whose objects are reviews, and resources that are written continuously and are not worth recording. */
const UNRECORDED_GROUPS = new Set(['authorization.k8s.io', 'authentication.k8s.io', 'events.k8s.io']);
const UNRECORDED = new Set(['events', 'leases']);
/** Sub-resources that change no object. */
const STREAMS = new Set(['token', 'exec', 'attach', 'portforward', 'proxy', 'log']);

/** Empty when nothing worth repeating changed; a text when no step can repeat the request. `cordons` is kept between requests. */
export function recordedSteps(exchange: Exchange, cordons: Cordons): readonly ScenarioStep[] | string {
  const { verb, apiGroup, resource, subresource } = exchange.info;
  if (UNRECORDED_GROUPS.has(apiGroup) || UNRECORDED.has(resource) || STREAMS.has(subresource)) return [];
  if (exchange.params.has('dryRun')) return [];
  if (verb === 'create' && subresource === '') return [{ apply: createdManifest(exchange) }];
  if (verb === 'create' && subresource === 'eviction') return evictionSteps(exchange, cordons);
  if (verb === 'patch' && resource === 'nodes') noteCordon(exchange, cordons);
  if (verb === 'patch') return [patchStep(exchange)];
  if (verb === 'update') return [updateStep(exchange)];
  if (verb === 'delete') return [deleteStep(exchange, referenceOf(exchange))];
  if (verb === 'deletecollection') return deletedItems(exchange).map((name) => deleteStep(exchange, name));
  return `${verb} ${resource}${subresource === '' ? '' : `/${subresource}`} ${exchange.info.name}`;
}

/** Cordoned nodes, and whether they are being drained. */
export type Cordons = Map<string, 'cordoned' | 'draining'>;

function noteCordon({ info, body }: Exchange, cordons: Cordons): void {
  const { unschedulable } = (body as { spec?: { unschedulable?: unknown } }).spec ?? {};
  if (unschedulable === true) cordons.set(info.name, 'cordoned');
  else if (unschedulable !== undefined) cordons.delete(info.name);
}

/** Evictions from a cordoned node are those of kubectl drain; a later run determines the pods itself. */
function evictionSteps(exchange: Exchange, cordons: Cordons): ScenarioStep[] {
  const node = (exchange.target as Pod | undefined)?.spec?.nodeName ?? '';
  const state = cordons.get(node);
  if (state === undefined) return [{ evict: referenceOf(exchange) }];
  cordons.set(node, 'draining');
  return state === 'draining' ? [] : [{ tryDrain: { node } }];
}

function kindOf({ apiGroup, resource }: Exchange['info']): string {
  return allResources.find((info) => info.group === apiGroup && info.resource === resource)?.singular ?? resource;
}

function referenceOf({ info, target }: Exchange): string {
  return referenceTo(info, target === undefined ? info.name : repeatableName(target));
}

/** The kind and name of a request's object. */
export function referenceTo(info: Exchange['info'], name: string = info.name): string {
  const { namespace } = info;
  return [kindOf(info), ...(namespace === '' || namespace === 'default' ? [] : [namespace]), name].join('/');
}

/** The manifest with the name that the server generated, for later steps. */
function createdManifest({ info, body, answer }: Exchange): Manifest {
  const manifest = withoutServerFields(body as Manifest);
  const { generateName: _, ...metadata } = manifest.metadata ?? {};
  const name = metadata['name'] ?? (answer as Manifest | undefined)?.metadata?.['name'];
  const { namespace } = info;
  const isDefault = namespace === '' || namespace === 'default';
  return { ...manifest, metadata: isDefault ? { name, ...metadata } : { name, namespace, ...metadata } };
}

function patchStep(exchange: Exchange): ScenarioStep {
  const { contentType, body, info } = exchange;
  const target = { object: referenceOf(exchange), subresource: info.subresource || undefined };
  if (contentType.startsWith('application/json-patch')) return patched(target, { json: body });
  const patch = withoutServerFields(body as Manifest);
  if (contentType.startsWith('application/strategic-merge-patch')) return patched(target, { strategic: patch });
  if (!contentType.startsWith('application/apply-patch')) return patched(target, { merge: patch });
  return info.subresource === ''
    ? { apply: createdManifest(exchange) }
    : patched(target, { merge: withoutIdentity(patch) });
}

/** An update replaces the whole object: absent fields are removed, except those that only the server writes. */
function updateStep(exchange: Exchange): ScenarioStep {
  const { info, body, target } = exchange;
  const object = referenceOf(exchange);
  const { metadata = {}, status, ...fields } = withoutIdentity(withoutServerFields(body as Manifest));
  // not a merge, which would keep fields that the update omits
  if (info.subresource === 'status')
    return patched({ object, subresource: 'status' }, { json: [{ op: 'add', path: '/status', value: status ?? {} }] });
  if (info.subresource !== '')
    return patched({ object, subresource: info.subresource }, { merge: { ...fields, status } });
  const { metadata: metadataBefore = {}, ...fieldsBefore } = withoutIdentity(specOf(target));
  const json = [
    ...additions('/metadata', { ...emptied(metadataBefore), ...withoutNames(metadata) }),
    ...additions('', fields),
    ...Object.keys(fieldsBefore)
      .filter((name) => !(name in fields))
      .map((name) => ({ op: 'remove', path: pointer('', name) })),
  ];
  return patched({ object }, { json });
}

function specOf(target: KubernetesObject | undefined): Manifest {
  const { status: _, ...fields } = withoutServerFields({ ...target } as Manifest);
  return fields;
}

function additions(path: string, fields: Fields): object[] {
  return Object.entries(fields).map(([name, value]) => ({ op: 'add', path: pointer(path, name), value }));
}

/** Empty values for all fields of metadata, because at replay a field may not exist and so could not be removed. */
function emptied(metadata: Fields): Fields {
  const empty = (value: unknown): unknown => (Array.isArray(value) ? [] : isObject(value) ? {} : '');
  return Object.fromEntries(Object.entries(withoutNames(metadata)).map(([name, value]) => [name, empty(value)]));
}

function pointer(path: string, name: string): string {
  return `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

function withoutNames({ name: _, namespace: _namespace, ...texts }: Fields): Fields {
  return texts;
}

function patched(target: { object: string; subresource?: string | undefined }, how: object): ScenarioStep {
  const { object, subresource } = target;
  return { patch: subresource === undefined ? { object, ...how } : { object, ...how, subresource } };
}

function deleteStep({ params, body }: Exchange, object: string): ScenarioStep {
  const options = (body ?? {}) as { gracePeriodSeconds?: number; propagationPolicy?: string };
  const asked = params.get('gracePeriodSeconds');
  const grace = options.gracePeriodSeconds ?? (asked === null ? undefined : Number(asked));
  const propagation = options.propagationPolicy ?? params.get('propagationPolicy') ?? undefined;
  if (grace === undefined && (propagation ?? 'Background') === 'Background') return { delete: object };
  const step: Record<string, unknown> = { object };
  if (grace !== undefined) step['grace'] = grace;
  if (propagation !== undefined) step['propagation'] = propagation;
  return { delete: step };
}

function deletedItems(exchange: Exchange): string[] {
  const { items = [] } = (exchange.answer ?? {}) as { items?: readonly KubernetesObject[] };
  return items.map((item) => referenceTo(exchange.info, repeatableName(item)));
}

function withoutIdentity({ apiVersion: _, kind: _kind, ...fields }: Manifest): Manifest {
  return fields;
}

/** The object without the server's fields, kubectl's last-applied annotation, and nulls that Go writes for absent fields. */
function withoutServerFields({ status, ...body }: Manifest): Manifest {
  const { metadata, ...fields } = body;
  const kept: Record<string, unknown> = { ...fields };
  if (metadata !== undefined) {
    const own = Object.fromEntries(
      Object.entries(metadata).filter(([name, value]) => !SERVER_FIELDS.has(name) && value !== undefined),
    );
    if (isObject(own['annotations'])) own['annotations'] = withoutLastApplied(own['annotations']);
    if (isObject(own['annotations']) && Object.keys(own['annotations']).length === 0) delete own['annotations'];
    if (Object.keys(own).length > 0) kept['metadata'] = own;
  }
  if (isObject(status) && Object.keys(status).length > 0) kept['status'] = status;
  return kept;
}

function withoutLastApplied({ [LAST_APPLIED]: _, ...annotations }: Readonly<Record<string, unknown>>): object {
  return annotations;
}
