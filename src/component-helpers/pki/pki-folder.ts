/**
 * A folder of certificates and keys: existing ones are read; missing or outdated ones, and those for other names, are
 * created. A stamp file records what each was created for, so that a later start only reads files. Keys are 0600.
 * Upstream: kubeadm's certs phase.
 */
import type { Files } from '../../platform/files.ts';
import {
  createAuthority,
  issueCertificate,
  type CertificateDeps,
  type CertificateRequestSpec,
  type KeyPairPem,
} from './certificates.ts';

const AUTHORITY_MS = 3650 * 86_400_000;

type Stamp = Record<string, { readonly madeFor: string; readonly notAfterMs: number }>;

export interface PkiFolder {
  readonly dir: string;
  readonly files: Files;
  readonly deps: CertificateDeps;
  readonly stamp: Stamp;
  changed: boolean;
  /** Writes in progress: the next file is created without waiting for them. */
  readonly writing: Promise<void>[];
}

/** Opens the folder, creating it if needed. */
export async function openPkiFolder(files: Files, deps: CertificateDeps, dir: string): Promise<PkiFolder> {
  await files.makeDir(dir, { mode: 0o700 });
  return { dir, files, deps, stamp: await readStamp(files, `${dir}/stamp.json`), changed: false, writing: [] };
}

/**
 * Resolves when every created file is on disk, followed by the stamp, without which a leaf counts as missing. An
 * interrupted start leaves pairs without their authority, or halves of them, which the next start recreates.
 */
export async function closePkiFolder({ changed, files, dir, stamp, writing }: PkiFolder): Promise<void> {
  await Promise.all(writing);
  if (changed) await files.writeFileAtomic(`${dir}/stamp.json`, JSON.stringify(stamp, undefined, 1), { mode: 0o600 });
}

/** The authority with this name, created only if missing. */
export async function authority(folder: PkiFolder, name: string, commonName: string): Promise<KeyPairPem> {
  const keyPairPem = await readPair(folder, name);
  if (keyPairPem !== undefined) return keyPairPem;
  return writePair(folder, name, await createAuthority(folder.deps, commonName, AUTHORITY_MS));
}

/** A leaf certificate of this authority, kept while it matches and has more than a third of its lifetime left. */
export async function leafCertificate(
  folder: PkiFolder,
  ca: KeyPairPem,
  wanted: { name: string; spec: CertificateRequestSpec },
): Promise<KeyPairPem> {
  const { name, spec } = wanted;
  const madeFor = folder.deps.crypto.sha256Hex(JSON.stringify([ca.certPem, spec])).slice(0, 16);
  const stamp = folder.stamp[name];
  const fresh =
    stamp !== undefined && stamp.madeFor === madeFor && stamp.notAfterMs - folder.deps.nowMs() > spec.validityMs / 3;
  const keyPairPem = fresh ? await readPair(folder, name) : undefined;
  if (keyPairPem !== undefined) return keyPairPem;
  const made = await issueCertificate(folder.deps, ca, spec);
  folder.stamp[name] = { madeFor, notAfterMs: folder.deps.nowMs() + spec.validityMs };
  folder.changed = true;
  return writePair(folder, name, made);
}

/** Marks these leaves to be recreated at the next start; until then they stay. Resolves to those that exist. */
export async function renewLeavesAtStart(files: Files, dir: string, names: readonly string[]): Promise<string[]> {
  const stamp = await readStamp(files, `${dir}/stamp.json`);
  const found = names.filter((name) => stamp[name] !== undefined);
  const rest = Object.entries(stamp).filter(([name]) => !found.includes(name));
  if (found.length > 0)
    await files.writeFileAtomic(`${dir}/stamp.json`, JSON.stringify(Object.fromEntries(rest), undefined, 1), {
      mode: 0o600,
    });
  return found;
}

async function readStamp(files: Files, path: string): Promise<Stamp> {
  if (!(await files.exists(path))) return {};
  try {
    return JSON.parse(await files.readText(path)) as Stamp;
  } catch {
    return {}; // only means new leaf certificates
  }
}

async function readPair({ files, dir }: PkiFolder, name: string): Promise<KeyPairPem | undefined> {
  const paths = [`${dir}/${name}.crt`, `${dir}/${name}.key`];
  if ((await Promise.all(paths.map((path) => files.exists(path)))).includes(false)) return undefined;
  const [certPem = '', keyPem = ''] = await Promise.all(paths.map((path) => files.readText(path)));
  return { certPem, keyPem };
}

/** Starts writing a file; `closePkiFolder` waits for it. */
export function writeLater(
  { files, dir, writing }: PkiFolder,
  file: { name: string; text: string; mode: number },
): void {
  const written = files.writeFileAtomic(`${dir}/${file.name}`, file.text, { mode: file.mode });
  written.catch(() => undefined); // awaited when the folder is closed
  writing.push(written);
}

function writePair(folder: PkiFolder, name: string, pair: KeyPairPem): KeyPairPem {
  writeLater(folder, { name: `${name}.key`, text: pair.keyPem, mode: 0o600 });
  writeLater(folder, { name: `${name}.crt`, text: pair.certPem, mode: 0o644 });
  return pair;
}
