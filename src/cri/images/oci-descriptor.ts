/** Descriptors in the documents of an archive. Fields of wrong types count as absent. Pure. */
import { fieldsOf } from '../../base/fields-of.ts';

/** A descriptor as it is in a document. */
export interface RawDescriptor {
  readonly mediaType?: string | undefined;
  readonly digest?: string | undefined;
  readonly size?: number | undefined;
  readonly platform?: RawPlatform | undefined;
  readonly annotations: Readonly<Record<string, string>>;
}

export interface RawPlatform {
  readonly os?: string | undefined;
  readonly architecture?: string | undefined;
}

/** An index, or a layout's own. */
export interface Index {
  readonly manifests: readonly RawDescriptor[];
}

/** The references of a manifest. */
interface Manifest {
  readonly config: RawDescriptor;
  readonly layers: readonly RawDescriptor[];
}

/** Undefined for other documents. */
export function indexIn(document: unknown): Index | undefined {
  const { manifests } = fieldsOf(document);
  return Array.isArray(manifests) ? { manifests: manifests.map(descriptorOf) } : undefined;
}

/** Undefined for other documents. */
export function manifestIn(document: unknown): Manifest | undefined {
  const { config, layers = [] } = fieldsOf(document);
  return config !== undefined && Array.isArray(layers)
    ? { config: descriptorOf(config), layers: layers.map(descriptorOf) }
    : undefined;
}

/** The platform of a descriptor, or of an image's configuration. */
export function platformIn(document: unknown): RawPlatform | undefined {
  if (typeof document !== 'object' || document === null) return undefined;
  const { os, architecture } = fieldsOf(document);
  return { os: textIn(os), architecture: textIn(architecture) };
}

function descriptorOf(value: unknown): RawDescriptor {
  const { mediaType, digest, size, platform, annotations } = fieldsOf(value);
  return {
    mediaType: textIn(mediaType),
    digest: textIn(digest),
    size: typeof size === 'number' ? size : undefined,
    platform: platformIn(platform),
    annotations: Object.fromEntries(
      Object.entries(fieldsOf(annotations)).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
    ),
  };
}

function textIn(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
