/** Builds a one-layer OCI image in memory: manifest, configuration and layer as blobs. Pure. */
import { writeTar, type TarEntry } from './tar.ts';

/** A blob by its digest. */
export interface OciBlob {
  readonly mediaType: string;
  /** `sha256:…` */
  readonly digest: string;
  readonly data: Uint8Array;
}

/** An image: its manifest names the other blobs. */
export interface OciImage {
  readonly manifest: OciBlob;
  readonly config: OciBlob;
  readonly layers: readonly OciBlob[];
}

/** The content of the image. `architecture` is Go's name. */
export interface OciImageSpec {
  readonly architecture: string;
  readonly files: readonly TarEntry[];
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  readonly env?: readonly string[];
  /** `uid`, `uid:gid` or a name. */
  readonly user?: string;
  readonly stopSignal?: string;
}

/** The image of a spec; `sha256Hex` comes from the crypto port. */
export function buildOciImage(spec: OciImageSpec, sha256Hex: (data: Uint8Array) => string): OciImage {
  const createBlob = (mediaType: string, data: Uint8Array): OciBlob => ({
    mediaType,
    data,
    digest: `sha256:${sha256Hex(data)}`,
  });
  const json = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));
  const layer = createBlob('application/vnd.oci.image.layer.v1.tar', writeTar(spec.files));
  const config = createBlob(
    'application/vnd.oci.image.config.v1+json',
    json({
      architecture: spec.architecture,
      os: 'linux',
      config: {
        Entrypoint: spec.entrypoint,
        Cmd: spec.command,
        Env: spec.env,
        User: spec.user,
        StopSignal: spec.stopSignal,
      },
      rootfs: { type: 'layers', diff_ids: [layer.digest] },
    }),
  );
  const descriptor = (blob: OciBlob) => ({ mediaType: blob.mediaType, digest: blob.digest, size: blob.data.length });
  const manifest = createBlob(
    'application/vnd.oci.image.manifest.v1+json',
    json({
      schemaVersion: 2,
      mediaType: 'application/vnd.oci.image.manifest.v1+json',
      config: descriptor(config),
      layers: [descriptor(layer)],
    }),
  );
  return { manifest, config, layers: [layer] };
}
