/**
 * Conversion of custom resources between versions by a webhook. Upstream:
 * apiextensions-apiserver/pkg/apiserver/conversion/webhook_converter.go.
 *
 * The webhook may change an object's body, but only labels and annotations of its metadata. The call is a port, which
 * the composition implements.
 */
import { shown } from '../../base/shown.ts';
import { isObject, type JsonObject } from '../../api/codec/own-property.ts';
import { checkStoredParts } from '../../api/codec/parts.ts';
import { decodeTyped } from '../../api/codec/typed.ts';
import type { CustomResourceDefinition, WebhookClientConfig } from '../../api/gen/apiextensions-v1.ts';
import { type KubernetesObject, objectOf } from '../../api/object.ts';
import { StatusError, statusFailure } from '../../api/status-error.ts';
import { typeSchema } from '../../api/schema/schema.ts';
import type { StructSchema } from '../../api/schema/type-schema.ts';
import type { Random } from '../../platform/random.ts';
import type { Conversion } from '../registry/resource-definition.ts';
import { isProgramError } from '../../platform/unexpected.ts';

/** Posts a ConversionReview to a webhook. Rejects with an Error when there is no usable answer. */
export type PostConversionReview = (config: WebhookClientConfig, review: JsonObject) => Promise<JsonObject>;

export interface ConversionDeps {
  readonly post: PostConversionReview;
  readonly random: Random;
}

const GROUP = 'apiextensions.k8s.io';
const REVIEW_VERSIONS = ['v1', 'v1beta1'];

/** Conversion as the webhook makes it, before schemas are applied. */
export type WebhookConversion = Pick<Conversion, 'fromStored' | 'toStored'>;

/** Converts a definition's objects to and from one of its versions; undefined when only the apiVersion differs. */
export function webhookConversion(
  { spec }: CustomResourceDefinition,
  version: string,
  deps: ConversionDeps,
): WebhookConversion | undefined {
  const { conversion, group, names } = spec;
  const client = conversion?.webhook?.clientConfig;
  if (conversion?.strategy !== 'Webhook' || client === undefined) return undefined;
  const stored = spec.versions.find(({ storage }) => storage)?.name ?? version;
  const review = conversion.webhook!.conversionReviewVersions.find((one) => REVIEW_VERSIONS.includes(one)) ?? 'v1';
  const convert = async (objects: readonly KubernetesObject[], to: string): Promise<KubernetesObject[]> => {
    const from = (objects[0]?.apiVersion ?? '').split('/').at(-1) ?? '';
    const apiVersion = `${group}/${to}`;
    try {
      const conversionCall: ConversionCall = {
        objects,
        apiVersion,
        review: `${GROUP}/${review}`,
        uid: deps.random.uuid(),
      };
      return readAnswer(await deps.post(client, requestOf(conversionCall)), conversionCall);
    } catch (error) {
      if (isProgramError(error)) throw error;
      const why = error instanceof StatusError ? error.status.message : (error as Error).message;
      throw statusFailure(500, '', `conversion webhook for ${group}/${from}, Kind=${names.kind} failed: ${why}`);
    }
  };
  return {
    async fromStored(objects) {
      // Objects may be stored in several versions; each call converts those of one.
      const byVersion = Map.groupBy(objects, ({ apiVersion }) => apiVersion ?? '');
      const converted = new Map<KubernetesObject, KubernetesObject>();
      for (const versionGroup of byVersion.values()) {
        const results = await convert(versionGroup, version);
        for (const [index, object] of versionGroup.entries()) converted.set(object, results[index]!);
      }
      return objects.map((object) => converted.get(object)!);
    },
    toStored: async (object) => (stored === version ? object : (await convert([object], stored))[0]!),
  };
}

interface ConversionCall {
  readonly objects: readonly KubernetesObject[];
  /** The target version. */
  readonly apiVersion: string;
  /** The apiVersion of the review itself. */
  readonly review: string;
  readonly uid: string;
}

function requestOf({ objects, apiVersion, review, uid }: ConversionCall): JsonObject {
  return {
    kind: 'ConversionReview',
    apiVersion: review,
    request: { uid, desiredAPIVersion: apiVersion, objects },
  };
}

function readAnswer(answer: JsonObject, conversionCall: ConversionCall): KubernetesObject[] {
  const { kind, apiVersion, response } = answer;
  if (kind !== 'ConversionReview' || apiVersion !== conversionCall.review)
    throw new Error(
      `invalid response from webhook: expected webhook response of ${conversionCall.review}, Kind=ConversionReview, got ${shown(apiVersion)}, Kind=${shown(kind)}`,
    );
  if (!isObject(response)) throw new Error('no response provided');
  if (response['uid'] !== conversionCall.uid)
    throw new Error(
      `expected response.uid=${JSON.stringify(conversionCall.uid)}, got ${JSON.stringify(response['uid'] ?? '')}`,
    );
  const { result, convertedObjects } = response;
  const { status, message } = (isObject(result) ? result : {}) as { status?: unknown; message?: unknown };
  if (status !== 'Success')
    throw new Error(typeof message === 'string' && message !== '' ? message : 'response.result.status was not Success');
  const converted = Array.isArray(convertedObjects) ? (convertedObjects as unknown[]) : [];
  if (converted.length !== conversionCall.objects.length)
    throw new Error(`expected ${conversionCall.objects.length} converted objects, got ${converted.length}`);
  return conversionCall.objects.map((original, index) =>
    accept(original, converted[index], { index, asked: conversionCall }),
  );
}

/** Fields that conversion may not change: they identify the object. */
const KEPT = ['name', 'namespace', 'uid'] as const;

function accept(
  original: KubernetesObject,
  converted: unknown,
  { index, asked }: { index: number; asked: ConversionCall },
): KubernetesObject {
  const invalid = (why: string): Error => new Error(`invalid converted object at index ${index}: ${why}`);
  if (!isObject(converted)) throw invalid('must be an object');
  if (converted['kind'] !== original.kind)
    throw invalid(`invalid kind: expected ${original.kind}, got ${shown(converted['kind'])}`);
  if (converted['apiVersion'] !== asked.apiVersion)
    throw invalid(`invalid groupVersion: expected ${asked.apiVersion}, got ${shown(converted['apiVersion'])}`);
  const metadata = converted['metadata'];
  if (!isObject(metadata)) throw invalid('missing metadata in converted object');
  checkStoredParts(objectOf(converted), Infinity);
  for (const name of KEPT)
    if ((metadata[name] ?? '') !== (original.metadata[name] ?? ''))
      throw invalid(`must have the same ${name}: ${original.metadata[name] ?? ''} != ${String(metadata[name] ?? '')}`);
  const { labels, annotations } = decodeTyped(typeSchema('meta.v1.ObjectMeta') as StructSchema, {
    labels: metadata['labels'],
    annotations: metadata['annotations'],
  }).object;
  const { labels: _, annotations: __, ...rest } = original.metadata;
  const merged = {
    ...rest,
    ...(labels === undefined ? {} : { labels }),
    ...(annotations === undefined ? {} : { annotations }),
  };
  return { ...converted, metadata: merged } as KubernetesObject;
}
