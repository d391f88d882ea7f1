/** Reads the validity of every certificate that a cluster keeps in its data directory. */
import { errorMessage } from '../../base/errors.ts';
import { appendAll } from '../../base/lists.ts';
import { readCertificate } from '../../component-helpers/pki/read-certificate.ts';
import type { Platform } from '../../platform/platform.ts';
import type { CertificateFile } from './machine.ts';

type Deps = Pick<Platform, 'files' | 'crypto'>;

export async function readCertificates(deps: Deps, dataDir: string): Promise<readonly CertificateFile[]> {
  const paths = await certificatePaths(deps, `${dataDir}/pki`, 2);
  return Promise.all(paths.map((path) => readOne(deps, path)));
}

async function certificatePaths({ files }: Pick<Deps, 'files'>, dir: string, depth: number): Promise<string[]> {
  const names = await files.readDir(dir).catch(() => []);
  const paths: string[] = [];
  for (const name of names) {
    const path = `${dir}/${name}`;
    const stat = await files.stat(path).catch(() => undefined);
    if (stat?.kind === 'directory' && depth > 1) appendAll(paths, await certificatePaths({ files }, path, depth - 1));
    else if (stat?.kind === 'file' && /\.(crt|pem)$/.test(name)) paths.push(path);
  }
  return paths;
}

async function readOne(deps: Deps, path: string): Promise<CertificateFile> {
  const file = { path, isAuthority: /(^|[/-])ca\.crt$/.test(path), renewsItself: path.endsWith('-current.pem') };
  try {
    const { notBeforeMs, notAfterMs, commonName } = readCertificate(deps, await deps.files.readText(path));
    return { ...file, times: { notBeforeMs, notAfterMs }, subject: commonName };
  } catch (error) {
    return { ...file, error: errorMessage(error) };
  }
}
