/** AdmissionReview v1: what is asked, and whether the answer is one. Upstream: admission/plugin/webhook/request. */
import type { AdmissionRequest, AdmissionResponse } from '../../../api/gen/admission-v1.ts';
import { isObject, type JsonObject } from '../../../api/codec/own-property.ts';
import type { Principal } from '../../../api/transport.ts';
import type { UserInfo } from '../../../api/gen/authentication-v1.ts';
import { type Kind, kindFor } from './review-objects.ts';
import type { AdmissionAttributes } from '../contract.ts';
import { type Invocation, namespaceOf } from './invocation.ts';

const API_VERSION = 'admission.k8s.io/v1';
const REVIEW = 'AdmissionReview';
/** As Go prints a GroupVersionKind. */
const OUR_KIND = `${API_VERSION}, Kind=${REVIEW}`;

/** A user as reviews carry it. */
export function userInfoOf({ name, uid, groups, extra }: Principal): UserInfo {
  return {
    username: name,
    ...(uid === undefined || uid === '' ? {} : { uid }),
    ...(groups.length === 0 ? {} : { groups: [...groups] }),
    ...(extra === undefined
      ? {}
      : { extra: Object.fromEntries(Object.entries(extra).map(([key, values]) => [key, [...values]])) }),
  };
}

const optionsKinds = { CREATE: 'CreateOptions', UPDATE: 'UpdateOptions', DELETE: 'DeleteOptions' } as const;

function optionsOf({ operation, options }: AdmissionAttributes): object | null {
  if (operation === 'CONNECT') return null;
  return { ...options, kind: optionsKinds[operation], apiVersion: 'meta.k8s.io/v1' };
}

/** The objects of a request as the webhook sees them. */
export interface ReviewedObjects {
  readonly kind: Kind;
  readonly object: JsonObject | undefined;
  readonly oldObject: JsonObject | undefined;
}

/** The review to send. */
export function createReview(
  attributes: AdmissionAttributes,
  { own, as }: Pick<Invocation, 'own' | 'as'>,
  { uid, reviewed }: { uid: string; reviewed: ReviewedObjects },
): object {
  const { subresource, name, operation, dryRun, context } = attributes;
  const sub = subresource === '' ? {} : { subResource: subresource };
  const requestSub = subresource === '' ? {} : { requestSubResource: subresource };
  const namespace = namespaceOf(attributes);
  const { kind, object, oldObject } = reviewed;
  const request: AdmissionRequest = {
    uid,
    kind: { ...kind },
    resource: gvrOf(as.info),
    ...sub,
    requestKind: { ...kindFor(own, subresource) },
    requestResource: gvrOf(own.info),
    ...requestSub,
    ...(name === '' ? {} : { name }),
    ...(namespace === '' ? {} : { namespace }),
    operation,
    userInfo: userInfoOf(context.user),
    object: (object ?? null) as never,
    oldObject: (oldObject ?? null) as never,
    dryRun,
    options: optionsOf(attributes) as never,
  };
  return { kind: REVIEW, apiVersion: API_VERSION, request };
}

function gvrOf({ group, version, resource }: { group: string; version: string; resource: string }): {
  group: string;
  version: string;
  resource: string;
} {
  return { group, version, resource };
}

/** The response of an answered review. Throws an Error with upstream's text for one that is not sound. */
export function verifyReview(
  review: JsonObject,
  { uid, mutating }: { uid: string; mutating: boolean },
): AdmissionResponse {
  const { response, kind = '', apiVersion = '' } = review;
  if (!isObject(response)) throw new Error('webhook response was absent');
  const got = `${String(apiVersion)}, Kind=${String(kind)}`;
  if (got !== OUR_KIND) throw new Error(`expected webhook response of ${OUR_KIND}, got ${got}`);
  const answered = response as unknown as AdmissionResponse;
  if (answered.uid !== uid)
    throw new Error(`expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(answered.uid ?? '')}`);
  const patches = typeof answered.patch === 'string' && answered.patch !== '';
  if (!mutating) {
    if (patches) throw new Error('validating webhook may not return response.patch');
    if (answered.patchType != null) throw new Error('validating webhook may not return response.patchType');
    return answered;
  }
  if (patches && answered.patchType == null)
    throw new Error('webhook returned response.patch but not response.patchType');
  if (!patches && answered.patchType != null)
    throw new Error('webhook returned response.patchType but not response.patch');
  if (answered.patchType === '')
    throw new Error(`webhook returned invalid response.patchType of ${JSON.stringify(answered.patchType)}`);
  return answered;
}
