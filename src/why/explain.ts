/** Explains an object by the explainer of its kind, or else by its finalizers and conditions. */
import { allResources } from '../api/gen/resources.ts';
import type { KubernetesObject } from '../api/object.ts';
import type { ResourceInfo } from '../api/resource-info.ts';
import type { Client } from '../client/client.ts';
import { nameOfUser, type AccessRequest } from './access/access-request.ts';
import { explainAccess } from './access/explain-access.ts';
import type { RefusedRequest } from '../component-helpers/refused-request.ts';
import { boundedCauses } from './bounded-causes.ts';
import { conditionCauses, conditionsOf, isHealthy } from './conditions.ts';
import { Evidence } from './evidence.ts';
import { objectText, type Diagnosis, type Explanation, type ObjectName } from './explanation.ts';
import { finalizerCauses } from './finalizers.ts';
import { explainerOf } from './list.ts';
import { nameOfObject } from './object-name.ts';
import { diagnoseUnobserved, isBehind } from './workloads/observed.ts';
import { shownConditions } from './shown-conditions.ts';
import { explainRefused } from './requests/explain-refused.ts';
import type { ReadLimits } from './reads.ts';

export interface ExplainOptions extends ReadLimits {
  /** The client whose rights apply to all reads. */
  readonly client: Client;
  readonly nowMs: number;
}

/** The limit of causes of one explanation. */
const MAX_CAUSES = 100;

/**
 * Explains an object in the state in which it was read. Rejects only when the signal aborts; the explanation lists what could not
 * be read.
 */
export async function explainObject(
  info: ResourceInfo<KubernetesObject>,
  object: KubernetesObject,
  options: ExplainOptions,
): Promise<Explanation> {
  const evidence = new Evidence({ ...options, explain: diagnose });
  const explanation = explanationOf(nameOfObject(info, object), await evidence.explain(info, object), evidence);
  return { ...explanation, conditions: shownConditions(info, object) };
}

/** Explains why a user may do something, or may not. Rejects only when the signal aborts. */
export async function explainRequest(request: AccessRequest, options: ExplainOptions): Promise<Explanation> {
  const evidence = new Evidence({ ...options, explain: diagnose });
  return explanationOf(nameOfUser(request.user.name), await explainAccess(request, evidence), evidence);
}

/** Explains a request that was refused. Rejects only when the signal aborts. */
export async function explainRefusal(request: RefusedRequest, options: ExplainOptions): Promise<Explanation> {
  const evidence = new Evidence({ ...options, explain: diagnose });
  return explanationOf({ kind: 'request', name: request.id }, await explainRefused(request, evidence), evidence);
}

function explanationOf(object: ObjectName, diagnosis: Diagnosis, { lookedAt, notReadable }: Evidence): Explanation {
  const { state, summary } = diagnosis;
  const causes = boundedCauses(diagnosis.causes, MAX_CAUSES);
  return { apiVersion: 'keelson/v1', kind: 'Explanation', object, state, summary, causes, lookedAt, notReadable };
}

export async function diagnose(
  info: ResourceInfo<KubernetesObject>,
  object: KubernetesObject,
  evidence: Evidence,
): Promise<Diagnosis> {
  const explain = explainerOf(info);
  // A deleted pod or namespace waits for more than finalizers; all other objects wait only for those.
  if (object.metadata.deletionTimestamp !== undefined && info.kind !== 'Pod' && info.kind !== 'Namespace') {
    const causes = await finalizerCauses(info, object, evidence);
    return { state: causes.length === 0 ? 'Unknown' : 'Trouble', summary: 'is being deleted', causes };
  }
  if (explain === undefined) return explainByConditions(info, object, evidence);
  const found = await explain(object, evidence);
  // Trouble without a known cause is reported as unknown.
  const diagnosis: Diagnosis =
    found.state === 'Trouble' && found.causes.length === 0 ? { ...found, state: 'Unknown' } : found;
  if (diagnosis.state === 'Unknown' && diagnosis.causes.length === 0) addConditions(info, object, evidence);
  return diagnosis;
}

/** The causes that conditions of any object, also of custom resources, report. */
function explainByConditions(info: ResourceInfo, object: KubernetesObject, evidence: Evidence): Diagnosis {
  const behind = isBehind(object) ? diagnoseUnobserved(info, object, evidence.nowMs) : undefined;
  const causes = [...(behind?.causes ?? []), ...conditionCauses(info, object)];
  if (causes.length > 0) return { state: 'Trouble', summary: 'is not as it should be', causes };
  if (behind !== undefined)
    return {
      state: 'Progressing',
      summary: 'was changed just now, and its controller has not seen that yet',
      causes: [],
    };
  if (isHealthy(object)) return { state: 'Fine', summary: 'has no condition that says otherwise', causes: [] };
  const hasStatus = info.subresources.some(({ name }) => name === 'status');
  if (allResources.includes(info) && !hasStatus)
    return { state: 'Fine', summary: 'exists, and its kind has no status', causes: [] };
  addConditions(info, object, evidence);
  const isSilent = conditionsOf(object).length === 0;
  const summary = isSilent ? 'exists and has no conditions' : 'exists, and no condition says whether all is well';
  return { state: 'Unknown', summary, causes: [] };
}

function addConditions(info: ResourceInfo, object: KubernetesObject, evidence: Evidence): void {
  const conditions = conditionsOf(object).map(({ type, status, reason = '' }) => `${type}=${status} ${reason}`.trim());
  const name = objectText(nameOfObject(info, object));
  evidence.note(`conditions of ${name}: ${conditions.length === 0 ? 'it has none' : conditions.join(', ')}`);
}
