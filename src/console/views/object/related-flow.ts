/** The objects related to an object as a diagram, from routes and owners on the left to volumes and roles on the right. Pure. */
import type { ClusterRoleBinding, RoleBinding } from '../../../api/gen/rbac-v1.ts';
import type { IngressSpec } from '../../../api/gen/networking-v1.ts';
import type { PersistentVolumeClaim } from '../../../api/gen/core-v1.ts';
import { type Kind, kindId, type ObjectRef, objectPath } from '../../api/kinds.ts';
import type { Row } from '../../api/table.ts';
import { objectHref } from '../../app/hrefs.ts';
import { texts } from '../../app/texts.ts';
import type { Flow, FlowBox, FlowEdge } from '../../parts/flow/flow.ts';
import type { Tone } from '../../parts/tone.ts';

/** Rows of one kind, with the tone of each. */
export interface RelatedRows {
  readonly kind: Kind;
  readonly rows: readonly Row[];
  readonly toneOf: (row: Row) => Tone;
}

export interface RelatedInput {
  readonly of: ObjectRef;
  readonly tone: Tone;
  /** The nearest owner first. */
  readonly owners: readonly ObjectRef[];
  /** Rows that the object owns. Of two kinds the second belongs to the first when its owner references name it. */
  readonly owned: readonly RelatedRows[];
  /** The objects that its fields refer to. */
  readonly mentions: readonly ObjectRef[];
  /** Services that select the object or its pods, and routes of the namespace. */
  readonly services: RelatedRows | undefined;
  readonly routes: readonly RelatedRows[];
  readonly claims: readonly Row[];
  readonly volumes: Kind | undefined;
  readonly bindings: readonly Row[];
  readonly roles: { readonly Role: Kind | undefined; readonly ClusterRole: Kind | undefined };
}

/** The limit of rows of one kind that are drawn; one box has the number of the rest. */
const MOST = 10;
const COLUMNS = ['routes', 'owners', 'this', 'uses', 'behind'] as const;
type Column = (typeof COLUMNS)[number];

export function relatedFlow(input: RelatedInput): Flow {
  const sketch = new Sketch();
  const self = sketch.add('this', boxOf(input.of, input.tone, true));
  addOwners(input, sketch, self);
  addOwned(input, sketch, self);
  for (const mention of input.mentions) sketch.join(self, sketch.add('uses', boxOf(mention, 'plain')));
  addServices(input, sketch, self);
  addVolumes(input, sketch);
  addRoles(input, sketch, self);
  return sketch.flow();
}

/** The boxes and edges so far. */
class Sketch {
  readonly #columns = new Map<Column, Map<string, FlowBox>>(COLUMNS.map((name) => [name, new Map()]));
  readonly #edges = new Map<string, FlowEdge>();

  /** Adds a box unless its id exists already. Returns the id. */
  add(column: Column, box: FlowBox): string {
    if (![...this.#columns.values()].some((boxes) => boxes.has(box.id))) this.#columns.get(column)!.set(box.id, box);
    return box.id;
  }

  has(id: string): boolean {
    return [...this.#columns.values()].some((boxes) => boxes.has(id));
  }

  join(from: string, to: string, tone: Tone = 'plain'): void {
    this.#edges.set(`${from} ${to}`, { from, to, tone });
  }

  flow(): Flow {
    const { columns } = texts.object.graph;
    return {
      columns: COLUMNS.map((name) => ({ title: columns[name], boxes: [...this.#columns.get(name)!.values()] })).filter(
        ({ boxes }) => boxes.length > 0,
      ),
      edges: [...this.#edges.values()],
    };
  }
}

function boxOf(ref: ObjectRef, tone: Tone, current = false): FlowBox {
  return {
    id: objectPath(ref),
    title: ref.name,
    detail: ref.kind.kind,
    tone,
    current,
    href: current ? undefined : objectHref('object', ref),
  };
}

function refOf(kind: Kind, { namespace, name }: Row): ObjectRef {
  return { kind, namespace, name };
}

function addOwners({ owners }: RelatedInput, sketch: Sketch, self: string): void {
  let below = self;
  for (const [at, owner] of owners.slice(0, 2).entries()) {
    const id = sketch.add(at === 0 ? 'owners' : 'routes', boxOf(owner, 'plain'));
    sketch.join(id, below);
    below = id;
  }
}

/** Adds the ReplicaSets of a Deployment and their pods. */
function addOwned({ owned }: RelatedInput, sketch: Sketch, self: string): void {
  const parents = new Map<string, string>();
  for (const [at, { kind, rows, toneOf }] of owned.entries()) {
    const column = at === 0 ? 'uses' : 'behind';
    for (const row of rows.slice(0, MOST)) {
      const id = sketch.add(column, boxOf(refOf(kind, row), toneOf(row)));
      const parent = row.object?.metadata.ownerReferences
        ?.map(({ uid }) => parents.get(uid))
        .find((one) => one !== undefined);
      // Pods of an owner that is not drawn are connected with the object itself.
      sketch.join(parent ?? self, id, toneOf(row));
    }
    for (const row of rows.slice(0, MOST)) parents.set(row.uid, objectPath(refOf(kind, row)));
    if (rows.length <= MOST) continue;
    const rest: FlowBox = {
      id: `rest of ${kindId(kind)}`,
      title: texts.flow.more(rows.length - MOST),
      detail: kind.kind,
      tone: 'plain',
    };
    sketch.join(self, sketch.add(column, rest));
  }
}

function addServices({ of, services, routes }: RelatedInput, sketch: Sketch, self: string): void {
  const isService = kindId(of.kind) === 'services';
  for (const row of services?.rows.slice(0, MOST) ?? [])
    sketch.join(sketch.add('owners', boxOf(refOf(services!.kind, row), services!.toneOf(row))), self);
  for (const { kind, rows } of routes)
    for (const row of rows)
      for (const name of backendsOf(row)) {
        const service = services && objectPath({ kind: services.kind, namespace: row.namespace, name });
        const target =
          isService && name === of.name ? self : service !== undefined && sketch.has(service) ? service : undefined;
        if (target === undefined) continue;
        sketch.join(sketch.add(isService ? 'owners' : 'routes', boxOf(refOf(kind, row), 'plain')), target);
      }
}

interface RouteSpec {
  readonly defaultBackend?: { readonly service?: { readonly name?: string } };
  readonly rules?: readonly {
    readonly http?: { readonly paths?: NonNullable<NonNullable<IngressSpec['rules']>[number]['http']>['paths'] };
    readonly backendRefs?: readonly { readonly kind?: string; readonly name?: string; readonly namespace?: string }[];
  }[];
}

/** Names of the services to which a route of the same namespace refers: an Ingress, or a route of the Gateway API. */
function backendsOf({ object, namespace }: Row): readonly string[] {
  const { defaultBackend, rules = [] } = (object as { readonly spec?: RouteSpec } | undefined)?.spec ?? {};
  const names = rules.flatMap(({ http, backendRefs = [] }) => [
    ...(http?.paths ?? []).map(({ backend }) => backend.service?.name),
    ...backendRefs
      .filter(({ kind = 'Service', namespace: other = namespace }) => kind === 'Service' && other === namespace)
      .map(({ name }) => name),
  ]);
  return [...new Set([defaultBackend?.service?.name, ...names])].filter((name) => name !== undefined);
}

/** Adds the claims, and the volumes to which they are bound. */
function addVolumes({ claims, mentions, volumes }: RelatedInput, sketch: Sketch): void {
  if (volumes === undefined) return;
  for (const mention of mentions) {
    if (kindId(mention.kind) !== 'persistentvolumeclaims') continue;
    const claim = claims.find(({ name, namespace }) => name === mention.name && namespace === mention.namespace);
    const name = (claim?.object as PersistentVolumeClaim | undefined)?.spec?.volumeName ?? '';
    if (name === '') continue;
    const volume = boxOf({ kind: volumes, namespace: '', name }, 'plain');
    sketch.join(objectPath(mention), sketch.add('behind', volume));
  }
}

/** Adds the service account, and the roles that bindings grant it. */
function addRoles({ of, mentions, bindings, roles }: RelatedInput, sketch: Sketch, self: string): void {
  const isAccount = (ref: ObjectRef): boolean => kindId(ref.kind) === 'serviceaccounts';
  const accounts = [of, ...mentions].filter(isAccount);
  for (const account of accounts)
    for (const { object, namespace } of bindings) {
      const { subjects = [], roleRef } = object as RoleBinding | ClusterRoleBinding;
      const isBound = subjects.some(
        ({ kind, name, namespace: where = namespace }) =>
          kind === 'ServiceAccount' && name === account.name && where === account.namespace,
      );
      const kind = roleRef.kind === 'Role' ? roles.Role : roles.ClusterRole;
      if (!isBound || kind === undefined) continue;
      const role = { kind, namespace: roleRef.kind === 'Role' ? namespace : '', name: roleRef.name };
      sketch.join(isAccount(of) ? self : objectPath(account), sketch.add('behind', boxOf(role, 'plain')));
    }
}
