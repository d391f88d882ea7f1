/** Explains why a request was refused, from the API server's record of it. */
import { allResources } from '../../api/gen/resources.ts';
import type { PassedPart, RefusedRequest, RefusingPart } from '../../component-helpers/refused-request.ts';
import { actionText, nameOfUser, type AccessRequest } from '../access/access-request.ts';
import { explainAccess } from '../access/explain-access.ts';
import { cureOf } from '../access/nearest-roles.ts';
import type { Evidence } from '../evidence.ts';
import { cause, objectText, type Cause, type Cure, type Diagnosis, type ObjectName } from '../explanation.ts';
import { nameOf } from '../object-name.ts';
import { refuserCauses } from './refuser-causes.ts';

/** The explanation of a refusal by one part of the API server. */
interface Meaning {
  readonly code: string;
  readonly message: string;
  readonly cure?: Cure;
}

const MEANINGS: Readonly<Record<RefusingPart, Meaning>> = {
  authentication: {
    code: 'NotAuthenticated',
    message: 'the API server does not recognize who asks',
    cure: { text: 'use a valid client certificate or token', command: 'kubectl auth whoami' },
  },
  impersonation: { code: 'ImpersonationRefused', message: 'who asks may not act as the user named in its headers' },
  flowControl: {
    code: 'TooManyRequests',
    message: 'too many requests of its kind were being served or waiting',
    cure: {
      text: 'send fewer at a time, or give the priority level more shares',
      command: 'kubectl get --raw /debug/api_priority_and_fairness/dump_priority_levels',
    },
  },
  authorization: { code: 'NotAuthorized', message: 'no authorizer allows it' },
  decoding: {
    code: 'NotUnderstood',
    message: 'the API server cannot read the request, or not in this form',
    cure: { text: 'mend the request as the message says' },
  },
  mutatingAdmission: { code: 'NotAdmitted', message: 'admission refused it' },
  validation: {
    code: 'Invalid',
    message: 'the object is not valid',
    cure: { text: 'correct the fields that the message names' },
  },
  validatingAdmission: { code: 'NotAdmitted', message: 'admission refused it' },
  handler: { code: 'Refused', message: 'the resource itself refused it' },
  timeout: {
    code: 'RequestTimedOut',
    message: 'it was not answered within its time; it may still have been done',
    cure: { text: 'see which webhooks it waited for, and whether the store is slow', command: 'keelson status' },
  },
};

export async function explainRefused(request: RefusedRequest, evidence: Evidence): Promise<Diagnosis> {
  const { code: status, reason, user, time } = request;
  const { part } = request.refusedBy;
  const { code, message, cure } = MEANINGS[part];
  const by = part === 'authentication' ? '' : ` by ${user === '' ? 'nobody known' : user}`;
  const found = cause({
    code,
    object: targetOf(request),
    message,
    since: time,
    facts: [...factsOf(request), passedText(request)],
    because:
      part === 'authorization'
        ? await rightCauses(request, evidence)
        : await refuserCauses(request.refusedBy, evidence),
  });
  return {
    state: 'Trouble',
    summary: `was to ${actionText(accessRequestOf(request))}${by}, and was refused with ${status} ${reason}`.trimEnd(),
    causes: [cure === undefined ? found : { ...found, cure }],
  };
}

function factsOf({ message, refusedBy }: RefusedRequest): readonly string[] {
  const { flow } = refusedBy;
  return [message, ...(flow === undefined ? [] : [`flow schema ${flow.schema}, priority level ${flow.level}`])].filter(
    (text) => text !== '',
  );
}

/** The filters that the request passed: `passed authentication, flowControl (12 ms), authorization; 14 ms in all`. */
function passedText({ passed, milliseconds }: RefusedRequest): string {
  const text = ({ name, milliseconds: waited }: PassedPart): string => (waited < 1 ? name : `${name} (${waited} ms)`);
  const before = passed.length === 0 ? 'passed nothing' : `passed ${passed.map(text).join(', ')}`;
  return `${before}; ${milliseconds} ms in all`;
}

function targetOf({ resource: target, path }: RefusedRequest): ObjectName {
  // Lists, and objects whose names are only in their bodies, are identified by their path.
  if (target === undefined || target.name === '') return { kind: 'path', name: path };
  const { group, resource, namespace, name } = target;
  const info = allResources.find((one) => one.group === group && one.resource === resource);
  return info === undefined ? { kind: resource, namespace, name } : nameOf(info, { namespace, name });
}

function accessRequestOf({ user, groups, verb, path, resource: target }: RefusedRequest): AccessRequest {
  const { group = '', version = '', resource = '', subresource = '', namespace = '', name = '' } = target ?? {};
  return {
    user: { name: user, groups },
    verb,
    isResourceRequest: target !== undefined,
    apiGroup: group,
    apiVersion: version,
    resource,
    subresource,
    namespace,
    name,
    path: target === undefined ? path : '',
    notes: [],
  };
}

/** The missing right, when the caller may read roles and bindings; else a cure that would grant it. */
async function rightCauses(refused: RefusedRequest, evidence: Evidence): Promise<readonly Cause[]> {
  const request = accessRequestOf(refused);
  const { state, summary, causes } = await explainAccess(request, evidence);
  const object = nameOfUser(refused.user);
  if (state === 'Trouble') return causes;
  if (state === 'Fine') {
    const message = `it is allowed by now: ${objectText(object)} ${summary}`;
    return [cause({ code: 'AllowedNow', object, message, cure: { text: 'try again' } })];
  }
  const message = `${objectText(object)} has no right to ${actionText(request)}`;
  return [cause({ code: 'NoRuleAllows', object, message, cure: cureOf(request, []) })];
}
