// Builds container images as docker-archive tars (manifest.json, config, one layer), which `ctr images import` and `docker load`
// read, so that no registry is needed. Equal files give the same image id.
import { createHash } from 'node:crypto';

import { withFolders, writeTar, type TarEntry } from './tar.ts';

/** The content of an image. `name` is a full reference such as `localhost/keelson/demo:1`. */
export interface ImageSpec {
  readonly name: string;
  /** The file system, paths without a leading slash; parent folders are added. */
  readonly files: readonly TarEntry[];
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly workingFolder?: string;
  readonly ports?: readonly number[];
  /** `uid[:gid]`; root when absent. */
  readonly user?: string;
}

/** An image ready to import. */
export interface ImageArchive {
  readonly name: string;
  /** The image id: `sha256:` and the digest of its configuration. */
  readonly id: string;
  readonly archive: Buffer;
}

const architectures: Partial<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };

/** Builds the archive of an image for the architecture of this machine. */
export function buildImage(spec: ImageSpec): ImageArchive {
  const layer = writeTar(withFolders(spec.files));
  const config = JSON.stringify(imageConfig(spec, `sha256:${sha256(layer)}`));
  const digest = sha256(config);
  const manifest = [{ Config: `${digest}.json`, RepoTags: [spec.name], Layers: ['layer.tar'] }];
  const archive = writeTar([
    { path: 'manifest.json', kind: 'file', content: JSON.stringify(manifest) },
    { path: `${digest}.json`, kind: 'file', content: config },
    { path: 'layer.tar', kind: 'file', content: layer },
  ]);
  return { name: spec.name, id: `sha256:${digest}`, archive };
}

function imageConfig(spec: ImageSpec, layerDigest: string): object {
  const created = '1970-01-01T00:00:00Z';
  const environment = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', ...spec.environment };
  return {
    architecture: architectures[process.arch] ?? process.arch,
    os: 'linux',
    created,
    config: {
      Env: Object.entries(environment).map(([name, value]) => `${name}=${value}`),
      Entrypoint: spec.entrypoint,
      Cmd: spec.command,
      WorkingDir: spec.workingFolder ?? '/',
      User: spec.user,
      ExposedPorts: spec.ports && Object.fromEntries(spec.ports.map((port) => [`${port}/tcp`, {}])),
    },
    rootfs: { type: 'layers', diff_ids: [layerDigest] },
    history: [{ created, created_by: 'keelson' }],
  };
}

function sha256(content: Uint8Array | string): string {
  return createHash('sha256').update(content).digest('hex');
}
