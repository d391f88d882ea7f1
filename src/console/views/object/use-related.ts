/** The objects related to one, live, as far as the user may list them. */
import type { OwnerReference } from '../../../api/gen/meta-v1.ts';
import type { PodTemplateSpec, Service } from '../../../api/gen/core-v1.ts';
import type { KubernetesObject, Stored } from '../../../api/object.ts';
import { cellReader } from '../../api/cells.ts';
import { ApiError, sendJson } from '../../api/http.ts';
import { type Kind, kindId, type ObjectRef, objectPath } from '../../api/kinds.ts';
import { readObjectAt } from '../../api/past.ts';
import type { Row } from '../../api/table.ts';
import { kindNamed } from '../../app/cluster-state.ts';
import { momentMs } from '../../app/moment.ts';
import { useMayList } from '../../parts/access.ts';
import { belongingsOf } from '../../parts/belongings.ts';
import type { LiveTable } from '../../parts/live-table.ts';
import { type Tone, toneOf, toneOfShare } from '../../parts/tone.ts';
import { useLiveTable } from '../../parts/use-live-table.ts';
import { usePolled } from '../../parts/use-polled.ts';
import { WORKLOADS } from '../../parts/workload-kinds.ts';
import { kindOfReference } from './links.tsx';
import { mentionsOf } from './related.ts';
import type { RelatedInput, RelatedRows } from './related-flow.ts';

/** Kinds of objects that run as a service account. */
const WITH_PODS = ['pods', ...WORKLOADS];
const ROUTES = ['ingresses.networking.k8s.io', 'httproutes.gateway.networking.k8s.io'];

export function useRelated(ref: ObjectRef, object: KubernetesObject): RelatedInput {
  const mayListHere = useMayList(ref.namespace);
  const mayListAll = useMayList('');
  const id = kindId(ref.kind);
  const hasPods = WITH_PODS.includes(id);
  const listed = (word: string, wanted: boolean): Kind | undefined => {
    const kind = wanted ? kindNamed(word) : undefined;
    return kind !== undefined && (kind.namespaced ? mayListHere : mayListAll)(kind) ? kind : undefined;
  };
  const follow = (
    kind: Kind | undefined,
    selectors: { readonly labelSelector?: string; readonly fieldSelector?: string } = {},
  ) => ({ kind, table: useLiveTable(kind, { namespace: ref.namespace, ...selectors, withObjects: true }) });
  const belongings = belongingsOf(ref, object);
  const jobs = id === 'cronjobs.batch' ? [{ kind: 'jobs.batch', labelSelector: '', fieldSelector: '' }] : [];
  const [first, second] = [...belongings, ...jobs];
  const owned = [first, second].map((one) => follow(listed(one?.kind ?? '', one !== undefined), one));
  const fronted = hasPods && id !== 'cronjobs.batch' && id !== 'jobs.batch';
  const services = follow(listed('services', fronted));
  const routes = ROUTES.map((route) => follow(listed(route, fronted || id === 'services')));
  const mentions = mentionsOf(ref, object).flatMap(({ kind: word, namespace, name }) => {
    const kind = kindNamed(word);
    return kind === undefined ? [] : [{ kind, namespace: kind.namespaced ? namespace : '', name }];
  });
  const claims = follow(
    listed(
      'persistentvolumeclaims',
      mentions.some(({ kind }) => kindId(kind) === 'persistentvolumeclaims'),
    ),
  );
  const withRoles = mentions.some(({ kind }) => kindId(kind) === 'serviceaccounts') || id === 'serviceaccounts';
  const bindings = ['rolebindings', 'clusterrolebindings'].map((kind) =>
    follow(listed(`${kind}.rbac.authorization.k8s.io`, withRoles && (hasPods || id === 'serviceaccounts'))),
  );
  return {
    of: ref,
    tone: 'plain',
    owners: useOwners(ref, object),
    owned: owned.flatMap(({ kind, table }) =>
      relatedRows(kind, table, (row) => id !== 'cronjobs.batch' || isOwnedBy(row, object)),
    ),
    mentions,
    services: relatedRows(services.kind, services.table, (row) => selects(row, labelsOf(ref, object)))[0],
    routes: routes.flatMap(({ kind, table }) => relatedRows(kind, table, () => true)),
    claims: rowsOf(claims.table),
    volumes: kindNamed('persistentvolumes'),
    bindings: bindings.flatMap(({ table }) => rowsOf(table)),
    roles: {
      Role: kindNamed('roles.rbac.authorization.k8s.io'),
      ClusterRole: kindNamed('clusterroles.rbac.authorization.k8s.io'),
    },
  };
}

function rowsOf(table: LiveTable): readonly Row[] {
  void table.version.value; // the rows change with it
  return table.rows.shown;
}

function relatedRows(kind: Kind | undefined, table: LiveTable, shows: (row: Row) => boolean): readonly RelatedRows[] {
  if (kind === undefined) return [];
  const status = cellReader(table.columns.value, 'Status');
  const ready = cellReader(table.columns.value, 'Ready');
  const tone = (row: Row): Tone => {
    const ofStatus = toneOf(status(row));
    return ofStatus === 'good' || ofStatus === 'plain' ? orElse(toneOfShare(ready(row)), ofStatus) : ofStatus;
  };
  return [{ kind, rows: rowsOf(table).filter(shows), toneOf: tone }];
}

function orElse(tone: Tone, other: Tone): Tone {
  return tone === 'plain' ? other : tone;
}

function isOwnedBy({ object }: Row, { metadata: { uid } }: KubernetesObject): boolean {
  return object?.metadata.ownerReferences?.some((owner) => owner.uid === uid) === true;
}

/** The labels by which services select the object's pods. */
function labelsOf({ kind }: ObjectRef, object: KubernetesObject): Readonly<Record<string, string>> {
  if (kindId(kind) === 'pods') return object.metadata.labels ?? {};
  const { spec } = object as { readonly spec?: { readonly template?: PodTemplateSpec } };
  return spec?.template?.metadata?.labels ?? {};
}

function selects({ object }: Row, labels: Readonly<Record<string, string>>): boolean {
  const selector = Object.entries((object as Service).spec?.selector ?? {});
  return selector.length > 0 && selector.every(([key, value]) => labels[key] === value);
}

/** Its controller, and the controller of that: a Deployment of a ReplicaSet. */
function useOwners(ref: ObjectRef, object: KubernetesObject): readonly ObjectRef[] {
  const nearest = ownerOf(object.metadata.ownerReferences, ref.namespace);
  const atMs = momentMs.value;
  const { answer } = usePolled<ObjectRef | undefined>({
    key: nearest === undefined ? '' : `${objectPath(nearest)} ${atMs ?? ''}`,
    periodMs: 60_000,
    ask: async (signal) => {
      if (nearest === undefined) return undefined;
      try {
        const owner =
          atMs === undefined
            ? await sendJson<Stored<KubernetesObject>>(objectPath(nearest), { signal })
            : await readObjectAt(nearest, atMs, signal);
        return ownerOf(owner.metadata.ownerReferences, nearest.namespace);
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        return undefined; // deleted, or the user may not read it
      }
    },
    final: () => true,
  });
  return [nearest, answer].filter((one) => one !== undefined);
}

function ownerOf(owners: readonly OwnerReference[] | undefined, namespace: string): ObjectRef | undefined {
  const owner = owners?.find(({ controller }) => controller === true) ?? owners?.[0];
  const kind = owner && kindOfReference(owner.apiVersion, owner.kind);
  return kind && { kind, namespace: kind.namespaced ? namespace : '', name: owner.name };
}
