/**
 * Chooses the form of a response by the Accept header. Upstream: endpoints/handlers/negotiation. CBOR is not offered;
 * the HTTP adapter handles gzip.
 */
import { Lru } from '../base/lru.ts';
import { type AcceptClause, parseAccept } from '../api/accept.ts';
import { notAcceptable } from '../api/status-error.ts';

/** Serializations of responses. */
export type Serialization = 'json' | 'yaml' | 'protobuf';

/** The form a response takes. */
export interface MediaForm {
  readonly serialization: Serialization;
  /** The kind that objects are converted to. */
  readonly as?: 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList';
  /** The version of meta.k8s.io for `as`. */
  readonly asVersion: string;
  /** Whether the client asks for indented JSON in its Accept header. */
  readonly isPretty?: boolean;
  /** Identifies the form: equal keys give equal bytes. */
  readonly key: string;
}

/** The forms that an endpoint offers. */
export interface FormOffer {
  readonly as: readonly string[];
  readonly protobuf: boolean;
  /** Whether the response is a watch, which YAML does not support. */
  readonly stream: boolean;
}

const SERIALIZATIONS: ReadonlyMap<string, Serialization> = new Map([
  ['application/json', 'json'],
  ['application/yaml', 'yaml'],
  ['application/vnd.kubernetes.protobuf', 'protobuf'],
]);
const plainTypes = [...SERIALIZATIONS.keys()];
const STREAM_TYPES = ['application/json;stream=watch', 'application/vnd.kubernetes.protobuf;stream=watch'];

/** The Content-Type of each serialization. */
export const MEDIA_TYPE_OF: Readonly<Record<Serialization, string>> = {
  json: 'application/json',
  yaml: 'application/yaml',
  protobuf: 'application/vnd.kubernetes.protobuf',
};

function matches(clause: AcceptClause, offer: FormOffer): MediaForm | undefined {
  const any = clause.type === '*/*' || clause.type === 'application/*' || clause.type === '';
  const serialization = any ? 'json' : SERIALIZATIONS.get(clause.type);
  if (serialization === undefined) return undefined;
  if (serialization === 'protobuf' && !offer.protobuf) return undefined;
  if (serialization === 'yaml' && offer.stream) return undefined;
  const { as, v = 'v1', g = '' } = clause.params;
  const isPretty = !offer.stream && serialization === 'json' && clause.params['pretty'] === '1';
  const ending = isPretty ? ';pretty' : '';
  if (as === undefined) return { serialization, asVersion: '', isPretty, key: `${serialization}${ending}` };
  if (serialization === 'protobuf' && as === 'Table') return undefined;
  if (g !== 'meta.k8s.io' || (v !== 'v1' && v !== 'v1beta1') || !offer.as.includes(as)) return undefined;
  return {
    serialization,
    as: as as NonNullable<MediaForm['as']>,
    asVersion: v,
    isPretty,
    key: `${serialization};${as};${v}${ending}`,
  };
}

const JSON: MediaForm = { serialization: 'json', asVersion: '', key: 'json' };
const remembered = new Lru<string, MediaForm>(256);

/** The media types named in an error: built-in kinds name all, custom resources only those that fit the request. */
function producedBy({ as, stream }: FormOffer): readonly string[] {
  const isList = stream || as.includes('PartialObjectMetadataList');
  return isList ? [...plainTypes, ...STREAM_TYPES] : plainTypes;
}

function isProduced(type: string): boolean {
  return type === '*/*' || type === 'application/*' || SERIALIZATIONS.has(type);
}

/** The form to answer in. Throws 406. */
export function negotiate(accept: string | undefined, offer: FormOffer): MediaForm {
  if (accept === undefined || accept === '' || accept === '*/*' || accept === 'application/json') return JSON;
  const cacheKey = `${offer.as.length} ${offer.protobuf} ${offer.stream} ${accept}`;
  const cached = remembered.get(cacheKey);
  if (cached !== undefined) return cached;
  for (const clause of parseAccept(accept)) {
    const form = matches(clause, offer);
    if (form === undefined) continue;
    if (accept.length < 512) remembered.set(cacheKey, form);
    return form;
  }
  if (offer.protobuf && !parseAccept(accept).some(({ type }) => isProduced(type)))
    throw notAcceptable(`406: Not Acceptable\n\nAvailable representations: ${producedBy(offer).join(', ')}`, {});
  // Protobuf is named even for custom resources, which have none.
  const types = offer.stream && offer.protobuf ? STREAM_TYPES : plainTypes;
  throw notAcceptable(`only the following media types are accepted: ${types.join(', ')}`);
}

/** The serialization of a body from its Content-Type; undefined for any other. */
export function contentSerialization(contentType: string | undefined): Serialization | undefined {
  if (contentType === undefined || contentType === '') return 'json';
  const end = contentType.indexOf(';');
  return SERIALIZATIONS.get((end < 0 ? contentType : contentType.slice(0, end)).trim().toLowerCase());
}
