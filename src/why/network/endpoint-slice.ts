/** Explains why an endpoint slice has no ready endpoint, by the causes of its service. */
import { EndpointSlices, Services } from '../../api/gen/resources.ts';
import type { EndpointSlice } from '../../api/gen/discovery-v1.ts';
import type { Evidence } from '../evidence.ts';
import { cause, type Diagnosis } from '../explanation.ts';
import { nameOf, nameOfObject } from '../object-name.ts';

const SERVICE_LABEL = 'kubernetes.io/service-name';

export async function explainEndpointSlice(slice: EndpointSlice, evidence: Evidence): Promise<Diagnosis> {
  const { namespace = '', labels = {} } = slice.metadata;
  const endpoints = slice.endpoints ?? [];
  const ready = endpoints.filter(({ conditions }) => conditions?.ready !== false).length;
  const summary = `has ${ready} of ${endpoints.length} endpoints ready`;
  const name = labels[SERVICE_LABEL];
  if (name === undefined) {
    const message = `it has no label ${SERVICE_LABEL}, so it belongs to no service`;
    const cure = { text: `label it ${SERVICE_LABEL}=SERVICE` };
    const object = nameOfObject(EndpointSlices, slice);
    return { state: 'Trouble', summary, causes: [cause({ code: 'NoService', object, message, cure })] };
  }
  const { object: service, missing } = await evidence.get(Services, { namespace, name });
  if (missing) {
    const object = nameOf(Services, { namespace, name });
    const message = `service ${name}, whose endpoints it has, does not exist`;
    const cure = { text: `create service ${name}, or delete the slice` };
    return { state: 'Trouble', summary, causes: [cause({ code: 'ServiceMissing', object, message, cure })] };
  }
  if (service === undefined || ready > 0) return { state: 'Fine', summary, causes: [] };
  const causes = await evidence.causesOf(Services, service);
  return { state: causes.length === 0 ? 'Unknown' : 'Trouble', summary, causes };
}
