/**
 * Reads the fields of manifests and indexes that a registry needs: references, and what lists of referrers show.
 * Pure.
 */
import { isObject } from '../../api/codec/own-property.ts';
import { MAX_PARTS, scanJson } from '../../api/codec/parts.ts';
import { type Digest, tryDigest } from './oci-names.ts';
import { RegistryError } from './registry-error.ts';

export interface Manifest {
  readonly mediaType: string;
  readonly subject: Digest | undefined;
  readonly artifactType: string | undefined;
  readonly annotations: Readonly<Record<string, string>> | undefined;
  /** Digests of the layers and the configuration. */
  readonly blobs: readonly Digest[];
  /** Digests of an index's manifests. */
  readonly manifests: readonly Digest[];
}

const IMAGE = 'application/vnd.oci.image.manifest.v1+json';
const INDEX = 'application/vnd.oci.image.index.v1+json';
/** Non-distributable layers stay at their URLs and are not pushed. */
const FOREIGN = /\.(foreign|nondistributable)\./;
const MAX_REFERENCES = 10_000;
const MAX_TYPE_LENGTH = 255;

type Json = Readonly<Record<string, unknown>>;

/** `contentType`: the value of the request's header. @throws RegistryError */
export function parseManifest(content: Uint8Array, contentType: string): Manifest {
  const json = parseJson(content);
  const own = typeof json['mediaType'] === 'string' ? json['mediaType'] : undefined;
  const sent = contentType.split(';')[0]!.trim();
  if (own !== undefined && sent !== '' && own !== sent) throw invalid(`Content-Type is ${sent}, mediaType ${own}`);
  const mediaType = own ?? (sent === '' ? (Array.isArray(json['manifests']) ? INDEX : IMAGE) : sent);
  if (mediaType.length > MAX_TYPE_LENGTH || !/^[\w.+-]+\/[\w.+-]+$/.test(mediaType))
    throw invalid('mediaType is invalid');
  const config = isObject(json['config']) ? json['config'] : undefined;
  const layers = listOf(json, 'layers').filter(({ mediaType: type }) => !FOREIGN.test(String(type ?? '')));
  return {
    mediaType,
    subject: json['subject'] === undefined ? undefined : descriptor('subject', json['subject']),
    artifactType: textOf(json['artifactType']) ?? textOf(config?.['mediaType']),
    annotations: annotationsOf(json['annotations']),
    blobs: [
      ...(config === undefined ? [] : [descriptor('config', config)]),
      ...[...layers, ...listOf(json, 'fsLayers'), ...listOf(json, 'blobs')].map((each) => descriptor('layers', each)),
    ],
    manifests: listOf(json, 'manifests').map((each) => descriptor('manifests', each)),
  };
}

function parseJson(content: Uint8Array): Json {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(content);
  } catch {
    throw noObject();
  }
  checkParts(text);
  try {
    const json: unknown = JSON.parse(text);
    if (isObject(json)) return json;
  } catch {
    // reported below
  }
  throw noObject();
}

/** Parsing blocks other requests, so the limits that the API server applies to objects apply here too. */
function checkParts(text: string): void {
  let isTooDeep: boolean;
  try {
    isTooDeep = scanJson(text);
  } catch {
    throw new RegistryError(413, 'SIZE_INVALID', `a manifest has at most ${MAX_PARTS} fields, entries and items`);
  }
  if (isTooDeep) throw invalid('the manifest nests too deep');
}

function noObject(): RegistryError {
  return invalid('the manifest is not a JSON object');
}

function listOf(json: Json, key: string): readonly Json[] {
  const list = json[key];
  if (list === undefined || list === null) return [];
  if (!Array.isArray(list) || list.length > MAX_REFERENCES || !list.every(isObject))
    throw invalid(`${key} is not a list of descriptors`);
  return list as Json[];
}

/** Manifests of Docker's schema 1 reference layers by `blobSum`. */
function descriptor(where: string, value: unknown): Digest {
  const digest = isObject(value) ? tryDigest(String(value['digest'] ?? value['blobSum'] ?? '')) : undefined;
  if (digest === undefined) throw invalid(`${where} has no digest`);
  return digest;
}

function annotationsOf(value: unknown): Record<string, string> | undefined {
  if (!isObject(value)) return undefined;
  if (!Object.values(value).every((each) => typeof each === 'string')) throw invalid('annotations must be strings');
  return value as Record<string, string>;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function invalid(message: string): RegistryError {
  return new RegistryError(400, 'MANIFEST_INVALID', message);
}
