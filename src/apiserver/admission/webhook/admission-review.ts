/**
 * Builds the AdmissionReview v1 of a request and verifies the webhook's response. Upstream:
 * admission/plugin/webhook/request.
 */
import { shown } from '../../../base/shown.ts';
import type { AdmissionRequest, AdmissionResponse } from '../../../api/gen/admission-v1.ts';
import { asWritten } from '../../../api/codec/written-form.ts';
import { isObject, type JsonObject } from '../../../api/codec/own-property.ts';
import { admissionRequestOf } from '../../admission-matching/admission-request.ts';
import type { Kind, ReviewObjects } from '../../admission-matching/review-objects.ts';
import { decodeAnswer } from '../../webhook/review-answer.ts';
import type { AdmissionAttributes } from '../contract.ts';
import type { Invocation } from './invocation.ts';

const API_VERSION = 'admission.k8s.io/v1';
const REVIEW = 'AdmissionReview';
/** As Go prints a GroupVersionKind. */
const OUR_KIND = `${API_VERSION}, Kind=${REVIEW}`;

/** The objects of a request as the webhook sees them. */
export interface ReviewedObjects {
  readonly kind: Kind;
  readonly object: JsonObject | undefined;
  readonly oldObject: JsonObject | undefined;
}

/** The current objects: a webhook sees the changes of earlier ones. */
export async function reviewedObjects(
  view: ReviewObjects,
  { object, oldObject }: AdmissionAttributes,
): Promise<ReviewedObjects> {
  return {
    kind: view.kind,
    object: object && asWritten(await view.show(object)),
    oldObject: oldObject && asWritten(await view.show(oldObject)),
  };
}

export function createReview(
  attributes: AdmissionAttributes,
  matched: Pick<Invocation, 'requested' | 'matched'>,
  { uid, reviewed }: { uid: string; reviewed: ReviewedObjects },
): object {
  const { kind, object, oldObject } = reviewed;
  const request: AdmissionRequest = {
    uid,
    ...admissionRequestOf(attributes, matched, kind),
    object: (object ?? null) as never,
    oldObject: (oldObject ?? null) as never,
  };
  return { kind: REVIEW, apiVersion: API_VERSION, request };
}

/** The response in an answered review. Throws an Error with upstream's text for an invalid one. */
export function verifyReview(
  review: JsonObject,
  { uid, mutating }: { uid: string; mutating: boolean },
): AdmissionResponse {
  const { response, kind = '', apiVersion = '' } = review;
  if (!isObject(response)) throw new Error('webhook response was absent');
  const got = `${shown(apiVersion)}, Kind=${shown(kind)}`;
  if (got !== OUR_KIND) throw new Error(`expected webhook response of ${OUR_KIND}, got ${got}`);
  const answered = decodeAnswer<AdmissionResponse>('admission.v1.AdmissionResponse', response);
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
