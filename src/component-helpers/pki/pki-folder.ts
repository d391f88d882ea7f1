/**
 * A folder of certificates and keys: what is there is read, what is missing, outdated or made for other names is made. A
 * stamp beside them records what each was made for, so that a later start reads files only. Keys are 0600. Upstream:
 * kubeadm's certs phase.
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
  /** Files on their way to the disk: nothing waits for one before it makes the next. */
  readonly writing: Promise<void>[];
}

/** Opens it, making it where it is not there. */
export async function openPkiFolder(files: Files, deps: CertificateDeps, dir: string): Promise<PkiFolder> {
  await files.makeDir(dir, { mode: 0o700 });
  return { dir, files, deps, stamp: await readStamp(files, `${dir}/stamp.json`), changed: false, writing: [] };
}

/**
 * Resolves when everything made is on disk, and the stamp after it, without which a leaf counts as not made. A start that
 * is cut short leaves pairs without their authority, or halves of them: the next one makes those anew.
 */
export async function closePkiFolder({ changed, files, dir, stamp, writing }: PkiFolder): Promise<void> {
  await Promise.all(writing);
  if (changed) await files.writeFileAtomic(`${dir}/stamp.json`, JSON.stringify(stamp, undefined, 1), { mode: 0o600 });
}

/** The authority of this name: made once, never again. */
export async function authority(folder: PkiFolder, name: string, commonName: string): Promise<KeyPairPem> {
  const found = await readPair(folder, name);
  if (found !== undefined) return found;
  return writePair(folder, name, await createAuthority(folder.deps, commonName, AUTHORITY_MS));
}

/** A certificate of this authority, kept while it fits and has more than a third of its life left. */
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
  const found = fresh ? await readPair(folder, name) : undefined;
  if (found !== undefined) return found;
  const made = await issueCertificate(folder.deps, ca, spec);
  folder.stamp[name] = { madeFor, notAfterMs: folder.deps.nowMs() + spec.validityMs };
  folder.changed = true;
  return writePair(folder, name, made);
}

/** Lets the next start make these leaves anew; until then they stay as they are. Resolves to those that there are. */
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
    return {}; // Only costs new leaf certificates.
  }
}

async function readPair({ files, dir }: PkiFolder, name: string): Promise<KeyPairPem | undefined> {
  const paths = [`${dir}/${name}.crt`, `${dir}/${name}.key`];
  if ((await Promise.all(paths.map((path) => files.exists(path)))).includes(false)) return undefined;
  const [certPem = '', keyPem = ''] = await Promise.all(paths.map((path) => files.readText(path)));
  return { certPem, keyPem };
}

/** Begins to write a file; `closePkiFolder` waits for it. */
export function writeLater(
  { files, dir, writing }: PkiFolder,
  file: { name: string; text: string; mode: number },
): void {
  const written = files.writeFileAtomic(`${dir}/${file.name}`, file.text, { mode: file.mode });
  written.catch(() => undefined); // Awaited when the folder is closed.
  writing.push(written);
}

function writePair(folder: PkiFolder, name: string, pair: KeyPairPem): KeyPairPem {
  writeLater(folder, { name: `${name}.key`, text: pair.keyPem, mode: 0o600 });
  writeLater(folder, { name: `${name}.crt`, text: pair.certPem, mode: 0o644 });
  return pair;
}
