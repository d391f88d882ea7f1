/** Why an aggregated API does not answer. */
import { APIServices, Services } from '../../api/gen/resources.ts';
import type { APIService } from '../../api/gen/apiregistration-v1.ts';
import { conditionCause, conditionOf } from '../conditions.ts';
import type { Evidence } from '../evidence.ts';
import { cause, type Cause, type Diagnosis } from '../explanation.ts';
import { nameOf } from '../object-name.ts';

export async function explainApiService(service: APIService, evidence: Evidence): Promise<Diagnosis> {
  const condition = conditionOf(service, 'Available');
  if (condition?.status === 'True') return { state: 'Fine', summary: 'is available', causes: [] };
  if (condition === undefined) return { state: 'Progressing', summary: 'has not been asked yet', causes: [] };
  const found = conditionCause(APIServices, service, condition);
  const cure = { text: 'see that its server runs, answers at the port, and that caBundle fits its certificate' };
  const because = await backendCauses(service, evidence);
  return { state: 'Trouble', summary: 'is not available', causes: [{ ...found, cure, because }] };
}

async function backendCauses(service: APIService, evidence: Evidence): Promise<readonly Cause[]> {
  const { namespace, name } = service.spec?.service ?? {};
  if (namespace === undefined || name === undefined) return [];
  const { object, missing } = await evidence.get(Services, { namespace, name });
  if (object !== undefined) return evidence.causesOf(Services, object);
  if (!missing) return [];
  return [
    cause({
      code: 'ServiceMissing',
      object: nameOf(Services, { namespace, name }),
      message: `service ${name}, behind which its server is to be, does not exist`,
      cure: { text: 'install the server, or delete the APIService' },
    }),
  ];
}
