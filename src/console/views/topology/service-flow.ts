/** Services, their endpoint slices and the endpoints' pods as a diagram. Pure. */
import type { Endpoint, EndpointSlice } from '../../../api/gen/discovery-v1.ts';
import type { Kind } from '../../api/kinds.ts';
import type { Row } from '../../api/table.ts';
import { objectHref } from '../../app/hrefs.ts';
import { texts } from '../../app/texts.ts';
import type { Flow, FlowBox, FlowEdge } from '../../parts/flow/flow.ts';
import type { Tone } from '../../parts/tone.ts';

/** The limit of endpoints of one slice that are drawn; one box has the number of the rest. */
const MOST_ENDPOINTS = 10;
const SERVICE_NAME = 'kubernetes.io/service-name';

export interface ServiceKinds {
  readonly services: Kind;
  readonly slices: Kind;
  readonly pods: Kind;
}

interface ServiceRow {
  readonly row: Row;
  /** Type, address and ports. */
  readonly detail: string;
  readonly selector: string;
}

export function serviceFlow(services: readonly ServiceRow[], slices: readonly Row[], kinds: ServiceKinds): Flow {
  const { services: words } = texts.topology;
  const edges: FlowEdge[] = [];
  const endpoints = new Map<string, FlowBox>();
  const sliceBoxes: FlowBox[] = [];
  const served = new Map<string, Tone[]>();
  const shown = new Set(services.map(({ row }) => row.uid));
  const byName = new Map(services.map(({ row }) => [`${row.namespace}/${row.name}`, row]));
  for (const { uid, namespace, name, labels, object } of slices) {
    const service = byName.get(`${namespace}/${labels[SERVICE_NAME] ?? ''}`);
    if (service === undefined || !shown.has(service.uid)) continue;
    const slice = object as EndpointSlice;
    const all = slice.endpoints ?? [];
    const ready = all.filter((one) => toneOfEndpoint(one) === 'good').length;
    const tone = all.length > 0 && ready === all.length ? 'good' : ready > 0 ? 'busy' : 'bad';
    served.set(service.uid, [...(served.get(service.uid) ?? []), tone]);
    sliceBoxes.push({
      id: uid,
      title: name,
      detail: [words.ready(ready, all.length), portsOf(slice)].filter((text) => text !== '').join(' · '),
      tone,
      href: objectHref('object', { kind: kinds.slices, namespace, name }),
    });
    edges.push({ from: service.uid, to: uid, tone });
    for (const endpoint of all.slice(0, MOST_ENDPOINTS)) {
      const box = endpointBox(endpoint, namespace, kinds);
      endpoints.set(box.id, box);
      edges.push({ from: uid, to: box.id, tone: box.tone });
    }
    if (all.length <= MOST_ENDPOINTS) continue;
    const rest: FlowBox = {
      id: `${uid} rest`,
      title: texts.flow.more(all.length - MOST_ENDPOINTS),
      detail: '',
      tone: 'plain',
      href: objectHref('object', { kind: kinds.slices, namespace, name }),
    };
    endpoints.set(rest.id, rest);
    edges.push({ from: uid, to: rest.id, tone });
  }
  const serviceBoxes = services.map(({ row, detail, selector }) =>
    serviceBox({ row, detail, selector }, served.get(row.uid), kinds.services),
  );
  return {
    columns: [
      { title: words.services, boxes: serviceBoxes },
      { title: words.slices, boxes: sliceBoxes },
      { title: words.endpoints, boxes: [...endpoints.values()] },
    ],
    edges,
  };
}

function serviceBox({ row, detail, selector }: ServiceRow, slices: readonly Tone[] | undefined, kind: Kind): FlowBox {
  const { services: words } = texts.topology;
  const selects = selector !== '';
  const tone =
    slices === undefined
      ? selects
        ? 'bad'
        : 'plain'
      : slices.includes('good') || slices.includes('busy')
        ? worst(slices)
        : 'bad';
  const state = slices === undefined ? (selects ? words.noEndpoints : words.noSelector) : '';
  return {
    id: row.uid,
    title: row.name,
    detail: [state, detail].filter((text) => text !== '').join(' · '),
    tone,
    href: objectHref('object', { kind, namespace: row.namespace, name: row.name }),
  };
}

function worst(tones: readonly Tone[]): Tone {
  return tones.some((tone) => tone !== 'good') ? 'busy' : 'good';
}

function endpointBox(endpoint: Endpoint, namespace: string, { pods }: ServiceKinds): FlowBox {
  const { targetRef, addresses, nodeName, conditions } = endpoint;
  const isPod = targetRef?.kind === 'Pod' && targetRef.name !== undefined;
  const [address = ''] = addresses;
  const { services: words } = texts.topology;
  return {
    id: isPod ? `pod ${targetRef.uid ?? `${namespace}/${targetRef.name}`}` : `address ${address}`,
    title: isPod ? targetRef.name! : address,
    detail: [conditions?.terminating === true ? words.terminating : '', isPod ? address : '', nodeName ?? '']
      .filter((text) => text !== '')
      .join(' · '),
    tone: toneOfEndpoint(endpoint),
    href: isPod
      ? objectHref('object', { kind: pods, namespace: targetRef.namespace ?? namespace, name: targetRef.name! })
      : undefined,
  };
}

/** An absent condition means ready, as in the API. */
function toneOfEndpoint({ conditions }: Endpoint): Tone {
  return conditions?.ready === false ? 'busy' : 'good';
}

function portsOf({ ports }: EndpointSlice): string {
  return (ports ?? []).map(({ port, protocol }) => `${port ?? '*'}/${protocol ?? 'TCP'}`).join(', ');
}
