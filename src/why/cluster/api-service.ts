/** Explains why an aggregated API does not respond. */
import { APIServices } from '../../api/gen/resources.ts';
import type { APIService } from '../../api/gen/apiregistration-v1.ts';
import { conditionCause, conditionOf } from '../conditions.ts';
import type { Evidence } from '../evidence.ts';
import type { Diagnosis } from '../explanation.ts';
import { backendCauses } from '../requests/webhook-backend.ts';

export async function explainApiService(service: APIService, evidence: Evidence): Promise<Diagnosis> {
  const condition = conditionOf(service, 'Available');
  if (condition?.status === 'True') return { state: 'Fine', summary: 'is available', causes: [] };
  if (condition === undefined) return { state: 'Progressing', summary: 'has not been asked yet', causes: [] };
  const cause = conditionCause(APIServices, service, condition);
  const cure = { text: 'see that its server runs, answers at the port, and that caBundle fits its certificate' };
  const because = await backendCauses(service.spec?.service, evidence);
  return { state: 'Trouble', summary: 'is not available', causes: [{ ...cause, cure, because }] };
}
