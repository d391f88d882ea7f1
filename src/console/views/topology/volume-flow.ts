/** Claims, their volumes, and the volumes' nodes as a diagram. Pure. */
import type { PersistentVolume, PersistentVolumeClaim, Pod } from '../../../api/gen/core-v1.ts';
import type { Kind } from '../../api/kinds.ts';
import type { Row } from '../../api/table.ts';
import { objectHref } from '../../app/hrefs.ts';
import { texts } from '../../app/texts.ts';
import type { Flow, FlowBox, FlowEdge } from '../../parts/flow/flow.ts';
import { toneOf } from '../../parts/tone.ts';

export interface VolumeKinds {
  readonly pods: Kind;
  readonly claims: Kind;
  /** Undefined when the user may not list volumes. */
  readonly volumes: Kind | undefined;
  readonly nodes: Kind | undefined;
}

export interface VolumeRows {
  readonly claims: readonly Row[];
  readonly volumes: readonly Row[];
  /** Undefined when pods are not shown. */
  readonly pods: readonly Row[] | undefined;
  /** The nodes to which volumes are attached, by the volume's name. */
  readonly attached: ReadonlyMap<string, readonly string[]>;
}

const HOSTNAME = 'kubernetes.io/hostname';
/** The limit of pods of a claim that are drawn. */
const MOST_PODS = 6;

export function volumeFlow({ claims, volumes, pods, attached }: VolumeRows, kinds: VolumeKinds): Flow {
  const { volumes: words } = texts.topology;
  const edges: FlowEdge[] = [];
  const boxes = {
    pods: new Map<string, FlowBox>(),
    volumes: new Map<string, FlowBox>(),
    nodes: new Map<string, FlowBox>(),
  };
  const known = new Map(volumes.map((row) => [row.name, row]));
  const users = usersOf(pods ?? []);
  const addNode = (volume: string, node: string): void => {
    const id = `node ${node}`;
    boxes.nodes.set(id, {
      id,
      title: node,
      detail: '',
      tone: 'plain',
      href: kinds.nodes && objectHref('object', { kind: kinds.nodes, namespace: '', name: node }),
    });
    if (!edges.some(({ from, to }) => from === volume && to === id)) edges.push({ from: volume, to: id, tone: 'good' });
  };
  for (const row of claims) {
    const name = (row.object as PersistentVolumeClaim).spec?.volumeName ?? '';
    const volume = `volume ${name}`;
    if (name !== '') {
      boxes.volumes.set(volume, volumeBox(name, known.get(name), kinds.volumes));
      edges.push({ from: row.uid, to: volume, tone: 'good' });
      for (const node of [...nodesOf(known.get(name)), ...(attached.get(name) ?? [])]) addNode(volume, node);
    }
    for (const pod of (users.get(`${row.namespace}/${row.name}`) ?? []).slice(0, MOST_PODS)) {
      const box = podBox(pod, kinds.pods);
      boxes.pods.set(box.id, box);
      edges.push({ from: box.id, to: row.uid, tone: name === '' ? 'busy' : 'good' });
      const node = (pod.object as Pod).spec?.nodeName ?? '';
      if (name !== '' && node !== '') addNode(volume, node);
    }
  }
  return {
    columns: [
      ...(pods === undefined ? [] : [{ title: words.pods, boxes: [...boxes.pods.values()] }]),
      { title: words.claims, boxes: claims.map((row) => claimBox(row, kinds.claims)) },
      { title: words.volumes, boxes: [...boxes.volumes.values()] },
      { title: words.nodes, boxes: [...boxes.nodes.values()] },
    ],
    edges,
  };
}

/** Pods by the claims that they mount, including those of generic ephemeral volumes. */
function usersOf(pods: readonly Row[]): ReadonlyMap<string, readonly Row[]> {
  const users = new Map<string, Row[]>();
  for (const row of pods)
    for (const { name, persistentVolumeClaim, ephemeral } of (row.object as Pod).spec?.volumes ?? []) {
      const claim = persistentVolumeClaim?.claimName ?? (ephemeral === undefined ? undefined : `${row.name}-${name}`);
      if (claim === undefined) continue;
      const key = `${row.namespace}/${claim}`;
      users.set(key, [...(users.get(key) ?? []), row]);
    }
  return users;
}

/** The nodes that the volume's node affinity names. */
function nodesOf(volume: Row | undefined): readonly string[] {
  const terms = (volume?.object as PersistentVolume | undefined)?.spec?.nodeAffinity?.required?.nodeSelectorTerms ?? [];
  return terms.flatMap(({ matchExpressions = [], matchFields = [] }) =>
    [...matchExpressions, ...matchFields].flatMap(({ key, operator, values = [] }) =>
      operator === 'In' && (key === HOSTNAME || key === 'metadata.name') ? values : [],
    ),
  );
}

function claimBox(row: Row, kind: Kind): FlowBox {
  const { spec, status } = row.object as PersistentVolumeClaim;
  const phase = status?.phase ?? '';
  const size = status?.capacity?.['storage'] ?? spec?.resources?.requests?.['storage'] ?? '';
  return {
    id: row.uid,
    title: row.name,
    detail: [phase, size, spec?.storageClassName ?? ''].filter((text) => text !== '').join(' · '),
    tone: toneOf(phase),
    href: objectHref('object', { kind, namespace: row.namespace, name: row.name }),
  };
}

function volumeBox(name: string, row: Row | undefined, kind: Kind | undefined): FlowBox {
  const volume = row?.object as PersistentVolume | undefined;
  const phase = volume?.status?.phase ?? '';
  return {
    id: `volume ${name}`,
    title: name,
    detail: [phase, volume?.spec?.capacity?.['storage'] ?? '', volume === undefined ? '' : sourceOf(volume)]
      .filter((text) => text !== '')
      .join(' · '),
    tone: toneOf(phase),
    href: kind && objectHref('object', { kind, namespace: '', name }),
  };
}

function sourceOf({ spec }: PersistentVolume): string {
  if (spec?.csi !== undefined) return spec.csi.driver;
  return ['local', 'hostPath', 'nfs', 'iscsi', 'fc'].find((source) => source in (spec ?? {})) ?? '';
}

function podBox({ uid, namespace, name, object }: Row, kind: Kind): FlowBox {
  const phase = (object as Pod).status?.phase ?? '';
  return {
    id: `pod ${uid}`,
    title: name,
    detail: phase,
    tone: toneOf(phase),
    href: objectHref('object', { kind, namespace, name }),
  };
}
