// Writes tar archives (POSIX ustar) whose bytes depend only on the entries: no times, no owners except root. Supports what
// container images need: files, folders and symbolic links, names up to 100 bytes (255 with a prefix).

/** One entry of an archive. A path is relative; parent folders are not added. */
export type TarEntry =
  | { readonly path: string; readonly kind: 'file'; readonly content: Uint8Array | string; readonly mode?: number }
  | { readonly path: string; readonly kind: 'folder'; readonly mode?: number }
  | { readonly path: string; readonly kind: 'link'; readonly target: string };

const BLOCK_BYTES = 512;
const typeFlags = { file: '0', folder: '5', link: '2' };

/**
 * The archive of the entries, in their order.
 * @throws RangeError when a path or link target is too long for the format
 */
export function writeTar(entries: readonly TarEntry[]): Buffer {
  const blocks: Uint8Array[] = [];
  for (const entry of entries) {
    const content = entry.kind === 'file' ? Buffer.from(entry.content) : Buffer.alloc(0);
    blocks.push(header(entry, content.length), content, Buffer.alloc(padding(content.length)));
  }
  blocks.push(Buffer.alloc(2 * BLOCK_BYTES));
  return Buffer.concat(blocks);
}

/** The entries with all their parent folders, parents first, each path once; for archives that are file systems. */
export function withFolders(entries: readonly TarEntry[]): TarEntry[] {
  const given = new Map(entries.map((entry) => [entry.path, entry]));
  const result = new Map<string, TarEntry>();
  for (const entry of entries.toSorted((a, b) => (a.path < b.path ? -1 : 1))) {
    const names = entry.path.split('/');
    for (let depth = 1; depth < names.length; depth++) {
      const path = names.slice(0, depth).join('/');
      if (!result.has(path)) result.set(path, given.get(path) ?? { path, kind: 'folder' });
    }
    result.set(entry.path, entry);
  }
  return [...result.values()];
}

function header(entry: TarEntry, size: number): Buffer {
  const block = Buffer.alloc(BLOCK_BYTES);
  const { prefix, name } = splitPath(entry.kind === 'folder' ? `${entry.path}/` : entry.path);
  const target = entry.kind === 'link' ? entry.target : '';
  if (Buffer.byteLength(target) > 100) throw new RangeError(`link target too long for tar: ${target}`);
  const mode = entry.kind === 'link' ? 0o777 : (entry.mode ?? (entry.kind === 'folder' ? 0o755 : 0o644));
  block.write(name, 0);
  block.write(octal(mode, 8), 100);
  block.write(octal(0, 8), 108); // owner
  block.write(octal(0, 8), 116); // group
  block.write(octal(size, 12), 124);
  block.write(octal(0, 12), 136); // modification time
  block.write(' '.repeat(8), 148); // the checksum is computed with spaces in its place
  block.write(typeFlags[entry.kind], 156);
  block.write(target, 157);
  block.write('ustar\x0000', 257);
  block.write(prefix, 345);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return block;
}

function splitPath(path: string): { prefix: string; name: string } {
  if (Buffer.byteLength(path) <= 100) return { prefix: '', name: path };
  for (let slash = path.indexOf('/'); slash > 0; slash = path.indexOf('/', slash + 1)) {
    const prefix = path.slice(0, slash);
    const name = path.slice(slash + 1);
    if (name !== '' && Buffer.byteLength(name) <= 100 && Buffer.byteLength(prefix) <= 155) return { prefix, name };
  }
  throw new RangeError(`path too long for tar: ${path}`);
}

function octal(value: number, width: number): string {
  return `${value.toString(8).padStart(width - 1, '0')}\0`;
}

function padding(size: number): number {
  return (BLOCK_BYTES - (size % BLOCK_BYTES)) % BLOCK_BYTES;
}
